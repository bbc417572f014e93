// The memory that a pager takes, and what it holds before the first step.
//
// One range: the pager, then the arrays that it points to.
#ifndef GLM_RUNTIME_PAGING_PAGER_IMAGE_H_
#define GLM_RUNTIME_PAGING_PAGER_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/paging/expert_cache.h"
#include "runtime/paging/pager_layout.h"
#include "runtime/paging/row_layout.h"

namespace glm::paging {

// Bytes from the pager's beginning; each array begins at a multiple of 256.
struct PagerPlaces {
  uint64_t sources = 0;
  uint64_t tables = 0;
  uint64_t slot_of_row = 0;
  uint64_t row_of_slot = 0;
  uint64_t row_uses = 0;
  uint64_t ranges = 0;
  uint64_t counts = 0;
  uint64_t bytes = 0;  // of all

  // `slots` as ExpertCache counts them, at most all rows.
  static PagerPlaces Of(const TraceShape& shape, uint32_t weights,
                        uint32_t slots);
};

struct PagerSetup {
  uint64_t address = 0;               // where the pager will be
  uint64_t slots = 0;                 // address of slot 0
  std::span<const uint64_t> sources;  // [layers * experts]
  std::span<const uint64_t> tables;   // [layers * weights]
  uint64_t bell = 0;
};

// The bytes of a pager whose rows, slots and policy are those of `cache`, with
// no step behind it and every slot empty.
std::vector<std::byte> PagerImage(const ExpertCache& cache,
                                  const RowLayout& layout,
                                  const PagerSetup& setup);

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_PAGER_IMAGE_H_
