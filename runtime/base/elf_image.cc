#include "runtime/base/elf_image.h"

#include <elf.h>

#include <cstring>

namespace glm {
namespace {

bool Inside(std::span<const std::byte> image, uint64_t offset, uint64_t bytes) {
  return offset <= image.size() && bytes <= image.size() - offset;
}

// Calls `check` on each entry of a table of headers.
template <typename Header, typename Check>
bool All(std::span<const std::byte> image, uint64_t offset, uint64_t count,
         uint64_t entry_size, Check check) {
  if (count == 0) return true;
  if (entry_size != sizeof(Header) ||
      !Inside(image, offset, count * sizeof(Header))) {
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    Header header;
    std::memcpy(&header, image.data() + offset + i * sizeof(header),
                sizeof(header));
    if (!check(header)) return false;
  }
  return true;
}

}  // namespace

bool BeginsElf(std::span<const std::byte> image) {
  return image.size() >= SELFMAG &&
         std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
}

std::optional<uint16_t> WholeElfType(std::span<const std::byte> image) {
  Elf64_Ehdr header;
  if (!BeginsElf(image) || image.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, image.data(), sizeof(header));
  const bool whole =
      header.e_ident[EI_CLASS] == ELFCLASS64 &&
      All<Elf64_Phdr>(image, header.e_phoff, header.e_phnum, header.e_phentsize,
                      [&](const Elf64_Phdr& segment) {
                        return Inside(image, segment.p_offset,
                                      segment.p_filesz);
                      }) &&
      All<Elf64_Shdr>(image, header.e_shoff, header.e_shnum, header.e_shentsize,
                      [&](const Elf64_Shdr& section) {
                        return section.sh_type == SHT_NOBITS ||
                               Inside(image, section.sh_offset,
                                      section.sh_size);
                      });
  if (!whole) return std::nullopt;
  return header.e_type;
}

}  // namespace glm
