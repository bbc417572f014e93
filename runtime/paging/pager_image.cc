#include "runtime/paging/pager_image.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace glm::paging {

PagerPlaces PagerPlaces::Of(const TraceShape& shape, uint32_t weights,
                            uint32_t slots) {
  constexpr uint64_t kAlignment = 256;
  PagerPlaces places;
  uint64_t at = sizeof(Pager);
  const auto take = [&](uint64_t count, uint64_t size) {
    at = (at + kAlignment - 1) / kAlignment * kAlignment;
    const uint64_t begin = at;
    at += count * size;
    return begin;
  };
  places.sources = take(shape.rows(), sizeof(uint64_t));
  places.tables = take(uint64_t{shape.layers} * weights, sizeof(uint64_t));
  places.slot_of_row = take(shape.rows(), sizeof(uint32_t));
  places.row_of_slot = take(slots, sizeof(uint32_t));
  places.row_uses = take(shape.rows(), sizeof(RowUse));
  places.ranges = take(uint64_t{2} * shape.layers + 2, sizeof(uint32_t));
  places.counts = take(shape.layers, sizeof(PagerCounts));
  places.bytes = take(0, 1);
  return places;
}

std::vector<std::byte> PagerImage(const ExpertCache& cache,
                                  const RowLayout& layout,
                                  const PagerSetup& setup) {
  const CacheOptions& options = cache.options();
  const TraceShape& shape = options.shape;
  assert(setup.sources.size() == shape.rows());
  assert(setup.tables.size() == uint64_t{shape.layers} * layout.weights);
  const PagerPlaces places =
      PagerPlaces::Of(shape, layout.weights, options.slots);
  std::vector<std::byte> image(places.bytes);

  Pager pager = {};
  pager.slots = setup.slots;
  pager.row_bytes = layout.row_bytes;
  pager.sources = setup.address + places.sources;
  pager.tables = setup.address + places.tables;
  pager.slot_of_row = setup.address + places.slot_of_row;
  pager.row_of_slot = setup.address + places.row_of_slot;
  pager.row_uses = setup.address + places.row_uses;
  pager.ranges = setup.address + places.ranges;
  pager.counts = setup.address + places.counts;
  pager.bell = setup.bell;
  pager.layers = shape.layers;
  pager.experts = shape.experts;
  pager.slot_count = options.slots;
  pager.rank = static_cast<uint32_t>(options.policy.rank);
  pager.weights = layout.weights;
  pager.pieces = layout.pieces;
  std::copy(layout.offsets.begin(), layout.offsets.end(), pager.offsets);
  std::memcpy(image.data(), &pager, sizeof(pager));

  const auto put = [&](uint64_t at, const auto& values) {
    std::memcpy(image.data() + at, values.data(),
                values.size() * sizeof(values[0]));
  };
  put(places.sources, setup.sources);
  put(places.tables, setup.tables);
  put(places.slot_of_row, std::vector<uint32_t>(shape.rows(), kNone));
  put(places.row_of_slot, std::vector<uint32_t>(options.slots, kNone));
  std::vector<uint32_t> ranges;
  const auto add = [&](const ExpertCache::Slots& slots) {
    ranges.insert(ranges.end(), {slots.begin, slots.end});
  };
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    add(cache.SlotsOf(layer));
  }
  add(cache.OpenSlots());
  put(places.ranges, ranges);
  return image;
}

}  // namespace glm::paging
