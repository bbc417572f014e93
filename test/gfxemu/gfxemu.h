// Runs code objects for gfx1201 on a CPU, to test kernels where no such card
// is. Wave32; memory in order: it knows no time and no caches, and a missing
// s_wait goes unnoticed. README.md says what it finds and what it does not.
//
//   std::string error;
//   auto object = gfxemu::CodeObject::Load(bytes, &error);
//   gfxemu::Launch launch = {.kernel = "linear", .grid = {4, 1, 1}, ...};
//   if (!object->Run(launch, &error)) { /* error says why */ }
//
// Needs the program llvm-objdump-22, or $LLVM_OBJDUMP.
#ifndef TEST_GFXEMU_GFXEMU_H_
#define TEST_GFXEMU_GFXEMU_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gfxemu {

// Memory that a kernel may touch, as addresses of this process.
struct MemoryRange {
  uint64_t begin;
  uint64_t end;
};

struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1};  // workgroups
  uint32_t threads = 256;                    // work-items a workgroup
  std::span<const uint64_t> args;            // 8 bytes each
  std::span<const MemoryRange> memory;
  uint64_t first_block = 0;  // of the grid, x fastest
  uint64_t end_block = ~uint64_t{0};
  uint32_t dynamic_lds = 0;
  // 0: blocks one after the other, and waves, each up to its next barrier.
  // Else: several blocks at the same time, started in random order, and waves
  // in random order, the same for the same seed, by turns and by block for
  // short stretches, for long ones, or up to their next barriers.
  uint64_t seed = 0;
  uint64_t max_instructions = uint64_t{1} << 32;  // a wave
};

struct Statistics {
  uint64_t instructions = 0;  // of waves
  uint64_t waves = 0;
};

class CodeObject {
 public:
  // Null, with the reason, for bytes that are no code object for gfx12.
  static std::unique_ptr<CodeObject> Load(std::span<const std::byte> bytes,
                                          std::string* error);
  ~CodeObject();

  bool Has(const std::string& kernel) const;
  // Instructions in the object that the emulator does not know; reaching one
  // is an error.
  std::vector<std::string> Missing() const;

  // False, with the reason, when a wave touched memory outside `memory`, LDS or
  // scratch, reached an unknown instruction, did not end, or
  // when all blocks wait at s_sleep for ever. May be called from
  // several threads.
  bool Run(const Launch& launch, std::string* error,
           Statistics* statistics = nullptr) const;

 private:
  struct Image;
  explicit CodeObject(std::unique_ptr<Image> image);
  std::unique_ptr<Image> image_;
};

// Whether a mnemonic, without its encoding, is known.
bool Supports(const std::string& mnemonic);

}  // namespace gfxemu

#endif  // TEST_GFXEMU_GFXEMU_H_
