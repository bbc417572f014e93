// The container around the plan's flatbuffer: a header of 64 bytes, the
// flatbuffer, then page-aligned segments. The writer in the compiler and the
// reader in the runtime share this header and nothing else.
//
//   0      FileHeader
//   64     flatbuffer (plan.fbs), any size
//   ...    zeros up to the next multiple of kSegmentAlignment
//   n*4096 segments: code objects, kernel source, tokenizer
//
// Every integer is little endian, as is every machine that this runs on.
#ifndef GLM_RUNTIME_PLAN_PLAN_FORMAT_H_
#define GLM_RUNTIME_PLAN_PLAN_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace glm::plan {

inline constexpr char kFileMagic[8] = {'G', 'L', 'M', 'P', 'L', 'A', 'N', '1'};
// The versions that are read. 2 has paged experts: launches with a pager.
inline constexpr uint32_t kOldestFileVersion = 1;
inline constexpr uint32_t kFileVersion = 2;
inline constexpr uint64_t kFlatbufferOffset = 64;    // bytes from the start
inline constexpr uint64_t kSegmentAlignment = 4096;  // bytes
inline constexpr uint64_t kBufferAlignment = 256;    // arena offsets, bytes
inline constexpr uint64_t kStateAlignment = 256;     // State.bytes_per_slot

// Blocks that look at a row of logits side by side (docs/spec/sampling.md).
inline constexpr uint64_t SamplingParts(uint64_t vocab) {
  const uint64_t parts = (vocab + 1023) / 1024;
  return parts > 256 ? 256 : parts;
}

// Limits that the validator enforces. They bound what a damaged plan can make
// the runtime allocate or loop over, and are far above what the model needs.
inline constexpr uint64_t kMaxFlatbufferBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMaxSampledVocab = uint64_t{1} << 24;
inline constexpr uint32_t kMaxNameLength = 256;
inline constexpr uint32_t kMaxRank = 8;
inline constexpr uint32_t kMaxArgs = 64;
inline constexpr uint32_t kMaxGroupArgs = 512;  // 4 KiB, what a GPU takes
inline constexpr uint32_t kMaxPhases = 8;       // of a group
inline constexpr uint32_t kMaxRanks = 64;
inline constexpr uint32_t kMaxThreads = 1024;  // work-items a workgroup
inline constexpr uint32_t kMaxLdsBytes = 64 << 10;
inline constexpr uint32_t kMaxGridDim = 0x7fffffff;
inline constexpr uint64_t kMaxGridBlocks = uint64_t{1} << 40;
inline constexpr uint32_t kMaxTokens = 1 << 20;           // rows of one step
inline constexpr uint64_t kMaxBytes = uint64_t{1} << 46;  // of one object

// Of paged experts (docs/spec/paging.md): experts of a layer, whose lists lie
// in a kernel's shared memory; weights of a row, whose places lie in the pager.
inline constexpr uint32_t kMaxPagedExperts = 1024;
inline constexpr uint32_t kMaxRowWeights = 4;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t reserved;           // 0
  uint64_t flatbuffer_offset;  // kFlatbufferOffset
  uint64_t flatbuffer_size;    // bytes
  uint64_t file_size;          // bytes of the whole file
  uint64_t flatbuffer_xxh3;    // XXH3-64, seed 0, of the flatbuffer's bytes
  uint8_t padding[16];         // 0
};
static_assert(sizeof(FileHeader) == 64);
static_assert(std::endian::native == std::endian::little);

// The least version that a plan needs, so that older programs read what they
// can.
inline constexpr uint32_t FileVersion(bool paged) {
  return paged ? kFileVersion : kOldestFileVersion;
}

// The header of a file with this flatbuffer. `file_size` counts the segments.
inline FileHeader MakeFileHeader(uint64_t flatbuffer_size, uint64_t file_size,
                                 uint64_t flatbuffer_xxh3,
                                 uint32_t version = kFileVersion) {
  FileHeader header = {};
  std::memcpy(header.magic, kFileMagic, sizeof(kFileMagic));
  header.version = version;
  header.flatbuffer_offset = kFlatbufferOffset;
  header.flatbuffer_size = flatbuffer_size;
  header.file_size = file_size;
  header.flatbuffer_xxh3 = flatbuffer_xxh3;
  return header;
}

// `offset` rounded up to the next multiple of kSegmentAlignment.
inline constexpr uint64_t AlignSegment(uint64_t offset) {
  return (offset + kSegmentAlignment - 1) / kSegmentAlignment *
         kSegmentAlignment;
}

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_PLAN_FORMAT_H_
