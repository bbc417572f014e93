//===- SharedMemory.cpp - What a block of a kernel shares -----------------===//

#include "compiler/codegen/SharedMemory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MathExtras.h"

using namespace glm;
using namespace glm::codegen;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

using Bytes = std::map<std::string, uint64_t>;

bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; }

/// What PTX says of a function, or of a variable in shared memory.
struct Symbol {
  bool isEntry = false;
  uint64_t bytes = 0, align = 1; // of a variable
  llvm::StringSet<> uses;        // names in its body
};

class PtxReader {
public:
  Bytes read(StringRef text) {
    while (!text.empty()) {
      StringRef line;
      std::tie(line, text) = text.split('\n');
      readLine(line.split("//").first);
    }
    Bytes bytes;
    for (auto &entry : symbols)
      if (entry.second.isEntry)
        bytes[entry.first().str()] = bytesOf(entry.first());
    return bytes;
  }

private:
  void readLine(StringRef line) {
    const size_t shared = line.find(".shared ");
    if (shared != StringRef::npos && line.contains(".align"))
      return readVariable(line.substr(shared));
    if (line.contains(".entry ") || line.contains(".func ")) {
      StringRef before = line.substr(0, line.rfind('(')).rtrim();
      size_t begin = before.size();
      while (begin > 0 && isNamePart(before[begin - 1]))
        --begin;
      function = before.substr(begin);
      symbols[function].isEntry |= line.contains(".entry ");
    }
    if (line.starts_with("{"))
      inBody = true;
    if (line.starts_with("}"))
      inBody = false;
    if (!inBody)
      return;
    llvm::StringSet<> &uses = symbols[function].uses;
    for (size_t i = 0; i < line.size();) {
      const size_t begin = i;
      while (i < line.size() && isNamePart(line[i]))
        ++i;
      if (i > begin && !llvm::isDigit(line[begin]))
        uses.insert(line.slice(begin, i));
      i = std::max(i, begin + 1);
    }
  }

  /// `.shared .align 16 .b8 name[32];`
  void readVariable(StringRef text) {
    Symbol variable;
    uint64_t bits = 0;
    StringRef name;
    llvm::SmallVector<StringRef> words;
    text.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (size_t i = 1; i < words.size(); ++i) {
      StringRef word = words[i];
      if (words[i - 1] == ".align")
        word.getAsInteger(10, variable.align);
      else if (word.size() > 2 && word[0] == '.' && llvm::isDigit(word[2]))
        word.drop_front(2).getAsInteger(10, bits);
      else if (word[0] != '.')
        name = word.rtrim(';');
    }
    uint64_t count = 1;
    auto [base, extent] = name.split('[');
    for (; !extent.empty(); extent = extent.split('[').second) {
      uint64_t n = 0;
      extent.split(']').first.getAsInteger(10, n);
      count *= n;
    }
    variable.bytes = bits / 8 * count;
    // One declared in a body is of that body.
    if (inBody)
      symbols[function].uses.insert(base);
    symbols[base] = std::move(variable);
  }

  /// All that `name` and what it refers to share.
  uint64_t bytesOf(StringRef name) {
    llvm::StringSet<> seen;
    llvm::SmallVector<StringRef> work = {name};
    uint64_t bytes = 0;
    while (!work.empty()) {
      auto it = symbols.find(work.pop_back_val());
      if (it == symbols.end() || !seen.insert(it->first()).second)
        continue;
      const Symbol &symbol = it->second;
      bytes = llvm::alignTo(bytes, std::max<uint64_t>(symbol.align, 1)) +
              symbol.bytes;
      for (const auto &use : symbol.uses)
        work.push_back(use.first());
    }
    return bytes;
  }

  llvm::StringMap<Symbol> symbols;
  StringRef function;
  bool inBody = false;
};

/// From the note that states what each kernel needs.
Expected<Bytes> readAmdNotes(StringRef code) {
  auto elf = llvm::object::ELF64LEFile::create(code);
  if (!elf)
    return elf.takeError();
  auto sections = elf->sections();
  if (!sections)
    return sections.takeError();
  Bytes bytes;
  for (const auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_NOTE)
      continue;
    Error error = Error::success();
    for (const auto &note : elf->notes(section, error)) {
      llvm::msgpack::Document document;
      if (note.getType() != llvm::ELF::NT_AMDGPU_METADATA ||
          !document.readFromBlob(note.getDescAsStringRef(section.sh_addralign),
                                 /*Multi=*/false))
        continue;
      for (auto &kernel :
           document.getRoot().getMap()["amdhsa.kernels"].getArray(true)) {
        auto &fields = kernel.getMap(true);
        bytes[fields[".name"].toString()] =
            fields[".group_segment_fixed_size"].getUInt();
      }
    }
    if (error)
      return std::move(error);
  }
  return bytes;
}

} // namespace

Expected<Bytes> codegen::sharedBytes(StringRef code, const CodeTarget &target) {
  if (target.name == "sm_90")
    return PtxReader().read(code);
  if (target.name == "gfx1201")
    return readAmdNotes(code);
  return Bytes();
}

Error codegen::checkSharedMemory(StringRef code, const CodeTarget &target) {
  Expected<Bytes> bytes = sharedBytes(code, target);
  if (!bytes)
    return llvm::createStringError(
        "the code object for " + target.text() +
        " cannot be read: " + llvm::toString(bytes.takeError()));
  auto most = llvm::max_element(
      *bytes, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most == bytes->end() || most->second <= kMaxSharedBytes)
    return Error::success();
  return llvm::createStringError(
      "kernel " + most->first + " for " + target.text() + ": a block shares " +
      llvm::Twine(most->second) + " bytes of memory, the limit is " +
      llvm::Twine(kMaxSharedBytes) +
      "; join fewer launches, with --disable-pass=glm-fuse-phases, then also "
      "glm-fuse-siblings and glm-fuse-blocks");
}
