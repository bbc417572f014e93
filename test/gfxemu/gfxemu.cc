#include "test/gfxemu/gfxemu.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

#include "test/gfxemu/decode.h"
#include "test/gfxemu/machine.h"
#include "test/gfxemu/schedule.h"
#include "test/gfxemu/table.h"

namespace gfxemu {
namespace {

constexpr u32 kPoison = 0x7fc0dead;  // a NaN, in registers that were not set
constexpr u8 kPoisonByte = 0xcd;     // in LDS and scratch

template <class X>
X ReadAs(const u8* p) {
  X x;
  memcpy(&x, p, sizeof x);
  return x;
}

void FillTable() {
  static std::once_flag once;
  std::call_once(once, [] {
    AddScalar();
    AddVectorInteger();
    AddVectorFloat();
    AddVectorHalf();
    AddVectorDouble();
    AddPermutes();
  });
}

// The lines of llvm-objdump for a code object.
vector<string> Disassemble(std::span<const std::byte> bytes) {
  char path[] = "/tmp/gfxemuXXXXXX";
  const int file = mkstemp(path);
  if (file < 0) fail("cannot make a temporary file");
  const bool written =
      write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size());
  close(file);
  const char* program = getenv("LLVM_OBJDUMP");
  const string command =
      string(program ? program : "llvm-objdump-22") + " -d " + path;
  vector<string> lines;
  if (FILE* pipe = written ? popen(command.c_str(), "r") : nullptr) {
    char line[4096];
    while (fgets(line, sizeof line, pipe)) lines.push_back(line);
    pclose(pipe);
  }
  unlink(path);
  return lines;
}

}  // namespace

struct CodeObject::Image {
  struct Symbol {
    u64 address, size;
  };
  vector<u8> store;  // the segments, on a page of their own
  u8* base = nullptr;
  size_t size = 0;
  std::map<string, Symbol> symbols;
  std::map<u64, std::unique_ptr<Inst>> code;  // by address
  vector<Inst*> at;                           // by (address - first) / 4
  u64 first = 0;
  vector<string> missing;

  void LoadElf(std::span<const std::byte> bytes);
  void Decode(std::span<const std::byte> bytes);
  Stop RunWave(Wave& wave, u64 limit, u64 slice) const;
};

void CodeObject::Image::LoadElf(std::span<const std::byte> bytes) {
  const u8* d = reinterpret_cast<const u8*>(bytes.data());
  if (bytes.size() < 64 || memcmp(d, "\177ELF\2", 5)) fail("not an ELF64 file");
  const int machine = ReadAs<u32>(d + 48) & 0xff;
  if (machine != 0x48 && machine != 0x4e) {
    fail("code object is not for gfx1200 or gfx1201");
  }
  const auto inside = [&](u64 offset, u64 length) {
    if (offset > bytes.size() || length > bytes.size() - offset) {
      fail("code object is cut short");
    }
  };
  // 1. Segments, as they lie in memory.
  const u64 headers = ReadAs<u64>(d + 32);
  const int count = ReadAs<u16>(d + 56);
  inside(headers, count * 56);
  for (int i = 0; i < count; i++) {
    const u8* p = d + headers + i * 56;
    if (ReadAs<u32>(p) != 1) continue;
    size = std::max<size_t>(size, ReadAs<u64>(p + 16) + ReadAs<u64>(p + 40));
  }
  store.resize(size + 8192);
  base = reinterpret_cast<u8*>((u64(store.data()) + 4095) & ~u64{4095});
  for (int i = 0; i < count; i++) {
    const u8* p = d + headers + i * 56;
    if (ReadAs<u32>(p) != 1) continue;
    inside(ReadAs<u64>(p + 8), ReadAs<u64>(p + 32));
    memcpy(base + ReadAs<u64>(p + 16), d + ReadAs<u64>(p + 8),
           ReadAs<u64>(p + 32));
  }
  // 2. Symbols, and addresses that depend on where the image lies.
  const u64 sections = ReadAs<u64>(d + 40);
  const u64 entry = ReadAs<u16>(d + 58);
  const int section_count = ReadAs<u16>(d + 60);
  inside(sections, entry * section_count);
  for (int i = 0; i < section_count; i++) {
    const u8* s = d + sections + i * entry;
    const u32 type = ReadAs<u32>(s + 4);
    const u64 begin = ReadAs<u64>(s + 24), length = ReadAs<u64>(s + 32);
    constexpr u32 kSymbols = 2, kRelocations = 4, kDynamicSymbols = 11;
    if (type == kSymbols || type == kDynamicSymbols) {
      inside(begin, length);
      const u64 names =
          ReadAs<u64>(d + sections + ReadAs<u32>(s + 40) * entry + 24);
      for (u64 o = begin; o + 24 <= begin + length; o += 24) {
        symbols[reinterpret_cast<const char*>(d) + names + ReadAs<u32>(d + o)] =
            {ReadAs<u64>(d + o + 8), ReadAs<u64>(d + o + 16)};
      }
    } else if (type == kRelocations) {
      inside(begin, length);
      for (u64 o = begin; o + 24 <= begin + length; o += 24) {
        constexpr u32 kRelative64 = 13;
        if (ReadAs<u32>(d + o + 8) != kRelative64) continue;
        const u64 value = u64(base) + ReadAs<u64>(d + o + 16);
        memcpy(base + ReadAs<u64>(d + o), &value, 8);
      }
    }
  }
}

void CodeObject::Image::Decode(std::span<const std::byte> bytes) {
  for (const string& line : Disassemble(bytes)) {
    // "\ts_load_b64 s[0:1], ...   // 000000001900: F4002000 F8000000"
    const size_t comment = line.rfind("// ");
    if (line[0] != '\t' || comment == string::npos) continue;
    auto inst = std::make_unique<Inst>();
    inst->addr = strtoull(line.c_str() + comment + 3, nullptr, 16);
    string words = line.substr(line.find(':', comment) + 1);
    words = words.substr(0, words.find('<'));
    inst->size = 0;
    for (const string& word : split_top(trim(words), ' ')) {
      if (trim(word).size() == 8) inst->size += 4;
    }
    const string text = trim(line.substr(0, comment));
    const size_t dual = text.find(" :: ");
    try {
      parse_one(*inst, trim(text.substr(0, dual)));
      if (dual != string::npos) {
        inst->dual = std::make_unique<Inst>();
        parse_one(*inst->dual, trim(text.substr(dual + 4)));
        inst->text = text;
      }
    } catch (std::exception& e) {
      const string why = e.what();
      inst->text = text;
      inst->fn = [why](Wave&, const Inst&) { fail("undecoded: " + why); };
      missing.push_back(why);
    }
    for (const Inst* one : {inst.get(), inst->dual.get()}) {
      if (one && !lookup(one->name) && one->name != "s_code_end") {
        missing.push_back(one->name);
      }
    }
    code[inst->addr] = std::move(inst);
  }
  if (code.empty()) fail("no code; is llvm-objdump-22 installed?");
  first = code.begin()->first;
  at.assign((code.rbegin()->first - first) / 4 + 1, nullptr);
  for (auto& [address, inst] : code) at[(address - first) / 4] = inst.get();
}

Stop CodeObject::Image::RunWave(Wave& wave, u64 limit, u64 slice) const {
  for (;;) {
    const u64 place = wave.pc - u64(base) - first;
    if (place / 4 >= at.size() || !at[place / 4]) fail("jump to no code");
    if (!slice--) return Stop::kSlice;
    const Inst& inst = *at[place / 4];
    wave.pc += inst.size;
    if (++wave.n > limit) fail("instruction limit reached at " + inst.text);
    if (inst.dual) {
      // The second half reads what was there before the first wrote.
      wave.defer = true;
      wave.didx = -1;
      inst.fn(wave, inst);
      wave.defer = false;
      Vec result;
      memcpy(result, wave.dres, sizeof result);
      const int index = wave.didx;
      const u32 mask = wave.dmask;
      inst.dual->fn(wave, *inst.dual);
      wave.put(index, result, mask);
    } else {
      inst.fn(wave, inst);
    }
    if (wave.done) return Stop::kEnd;
    if (inst.bar) return Stop::kBarrier;
    if (inst.pause) return Stop::kPause;
  }
}

namespace {

// What the kernel descriptor says.
struct Descriptor {
  u32 lds, scratch;
  u64 entry;
  u16 properties;
  u32 user_registers;

  explicit Descriptor(const u8* kd)
      : lds(ReadAs<u32>(kd)),
        scratch(ReadAs<u32>(kd + 4)),
        entry(u64(kd) + ReadAs<i64>(kd + 16)),
        properties(ReadAs<u16>(kd + 56)),
        user_registers(ReadAs<u32>(kd + 52) >> 1 & 31) {
    if (properties >> 11 & 1) scratch = std::max(scratch, 16384u);
    if (!(properties >> 10 & 1)) fail("wave64 kernels are not supported");
  }
};

// Arguments and, after them, the block of hidden ones of code object version 5.
vector<u8> KernelArguments(const Launch& launch) {
  vector<u8> bytes(launch.args.size() * 8 + 256);
  if (!launch.args.empty()) {
    memcpy(bytes.data(), launch.args.data(), launch.args.size() * 8);
  }
  u8* hidden = bytes.data() + launch.args.size() * 8;
  const u16 sizes[3] = {u16(launch.threads), 1, 1};
  const u16 dims = launch.grid[2] > 1 ? 3 : launch.grid[1] > 1 ? 2 : 1;
  memcpy(hidden, launch.grid.data(), 12);
  memcpy(hidden + 12, sizes, 6);
  memcpy(hidden + 64, &dims, 2);
  memcpy(hidden + 120, &launch.dynamic_lds, 4);
  return bytes;
}

void StartWave(Wave& wave, Group& group, const Descriptor& descriptor,
               const Launch& launch, u64 block, u32 index, u64 arguments,
               u64 packet) {
  wave.g = &group;
  for (auto& v : wave.v) std::fill(std::begin(v), std::end(v), kPoison);
  std::fill(std::begin(wave.s), std::end(wave.s), kPoison);
  wave.scc = 0;
  wave.done = false;
  wave.n = 0;
  wave.pc = descriptor.entry;
  wave.scr_sz = descriptor.scratch;
  wave.scratch.assign(size_t{descriptor.scratch} * L, kPoisonByte);
  wave.s[VCC] = wave.s[VCC + 1] = wave.s[EXEC + 1] = 0;
  const u32 lanes = std::min<u32>(L, launch.threads - index * L);
  wave.s[EXEC] = lanes == L ? ~0u : (1u << lanes) - 1;
  int s = 0;
  const auto pair = [&](int bit, u64 value, bool set) {
    if (!(descriptor.properties >> bit & 1)) return;
    if (set) wave.ws64(s, value);
    s += 2;
  };
  if (descriptor.properties & 1) s += 4;  // private segment buffer
  pair(1, packet, true);                  // dispatch packet
  pair(2, 0, false);                      // queue
  pair(3, arguments, true);
  pair(4, 0, false);  // dispatch id
  pair(5, 0, false);  // flat scratch
  if (descriptor.properties >> 6 & 1) wave.s[s++] = descriptor.scratch;
  const u64 gx = launch.grid[0], gy = launch.grid[1];
  wave.s[TTMP + 9] = u32(block % gx);
  wave.s[TTMP + 7] = u32(block / gx % gy & 0xffff) | u32(block / gx / gy) << 16;
  for (u32 lane = 0; lane < L; lane++) wave.v[0][lane] = index * L + lane;
}

}  // namespace

CodeObject::CodeObject(std::unique_ptr<Image> image)
    : image_(std::move(image)) {}
CodeObject::~CodeObject() = default;

std::unique_ptr<CodeObject> CodeObject::Load(std::span<const std::byte> bytes,
                                             std::string* error) {
  FillTable();
  try {
    auto image = std::make_unique<Image>();
    image->LoadElf(bytes);
    image->Decode(bytes);
    return std::unique_ptr<CodeObject>(new CodeObject(std::move(image)));
  } catch (std::exception& e) {
    *error = e.what();
    return nullptr;
  }
}

bool CodeObject::Has(const std::string& kernel) const {
  return image_->symbols.count(kernel + ".kd") != 0;
}

std::vector<std::string> CodeObject::Missing() const {
  vector<string> names = image_->missing;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool CodeObject::Run(const Launch& launch, std::string* error,
                     Statistics* statistics) const {
  try {
    const auto symbol = image_->symbols.find(launch.kernel + ".kd");
    if (symbol == image_->symbols.end()) fail("no kernel " + launch.kernel);
    const Descriptor descriptor(image_->base + symbol->second.address);
    const vector<u8> arguments = KernelArguments(launch);
    u8 packet[64] = {};
    vector<Range> ranges = {
        {u64(arguments.data()), u64(arguments.data()) + arguments.size()},
        {u64(image_->base), u64(image_->base) + image_->size},
        {u64(packet), u64(packet) + sizeof packet}};
    for (const MemoryRange& r : launch.memory) {
      ranges.push_back({r.begin, r.end});
    }

    const u64 blocks = u64{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    const u32 count = (launch.threads + L - 1) / L;
    Schedule::Calls calls;
    calls.start = [&](Block& block) {
      block.group.lds.assign(descriptor.lds + launch.dynamic_lds, kPoisonByte);
      block.group.ranges = &ranges;
      block.group.gfx12 = true;
      for (u32 i = 0; i < count; i++) {
        StartWave(*block.waves[i], block.group, descriptor, launch,
                  block.number, i, u64(arguments.data()), u64(packet));
      }
    };
    calls.run = [&](Wave& wave, u64 slice) {
      return image_->RunWave(wave, launch.max_instructions, slice);
    };
    calls.ended = [&](const Block& block) {
      if (!statistics) return;
      for (auto& wave : block.waves) statistics->instructions += wave->n;
      statistics->waves += count;
    };
    Schedule(launch.first_block, std::min(blocks, launch.end_block),
             launch.seed, count, std::move(calls))
        .Run();
    return true;
  } catch (std::exception& e) {
    *error = launch.kernel + ": " + e.what();
    return false;
  }
}

bool Supports(const std::string& mnemonic) {
  FillTable();
  return bool(lookup(mnemonic));
}

}  // namespace gfxemu
