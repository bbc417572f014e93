// The pager of a test (docs/spec/paging.md) and the expert cache that its
// kernels must agree with.
#ifndef TEST_KERNELS_PAGING_MEMORY_H_
#define TEST_KERNELS_PAGING_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "glm/copy_rows.h"
#include "glm/find_rows.h"
#include "runtime/paging/expert_cache.h"
#include "test/kernels/kernel_case.h"

namespace glm {

inline constexpr uint32_t kTestWeights = 3;

// All that a pager's addresses point to. Kernels of a GPU run on a copy, in
// which addresses are others: Bind() writes them again before each launch.
struct PagingMemory {
  kernel::Pager pager = {};
  std::vector<uint64_t> sources, table_addresses, counts;
  std::vector<std::vector<uint64_t>> tables;  // layers * weights
  std::vector<uint32_t> slot_of_row, row_of_slot, ranges;
  std::vector<kernel::RowUse> uses;
  std::vector<int32_t> trace;  // empty: none
  std::vector<uint8_t> arena;  // empty: addresses of slots are numbers only
  std::vector<std::vector<uint8_t>> pinned;  // rows' bytes; empty: the next
  uint64_t other_source = 0x10000;           // a number, or 0: asked for
  std::vector<uint8_t> bell, staging;        // empty: none

  // As the runtime sets one up for `cache`.
  PagingMemory(const paging::ExpertCache& cache, uint32_t pieces,
               uint64_t row_bytes) {
    const paging::CacheOptions& options = cache.options();
    const uint32_t layers = options.shape.layers, rows = options.shape.rows();
    pager.row_bytes = row_bytes;
    pager.layers = layers;
    pager.experts = options.shape.experts;
    pager.slot_count = options.slots;
    pager.rank = static_cast<uint32_t>(options.policy.rank);
    pager.weights = kTestWeights;
    pager.pieces = pieces;
    for (uint32_t p = 0; p < kTestWeights * pieces; ++p) {
      pager.offsets[p] = 256 * (p + p / 3);
    }
    sources.resize(rows);
    counts.resize(layers * 4);
    tables.assign(layers * kTestWeights,
                  std::vector<uint64_t>(pager.experts * pieces));
    table_addresses.resize(tables.size());
    slot_of_row.assign(cache.slot_of_row().begin(), cache.slot_of_row().end());
    row_of_slot.assign(cache.row_of_slot().begin(), cache.row_of_slot().end());
    uses.resize(rows);
    pinned.resize(rows);
    for (uint32_t layer = 0; layer <= layers; ++layer) {
      const paging::ExpertCache::Slots slots =
          layer < layers ? cache.SlotsOf(layer) : cache.OpenSlots();
      ranges.insert(ranges.end(), {slots.begin, slots.end});
    }
  }

  void MakeBell(uint32_t ring) {
    staging.resize(ring * pager.row_bytes);
    bell.resize(sizeof(kernel::Doorbell) + ring * 4 + 64);
    Bell().ring = ring;
  }
  kernel::Doorbell& Bell() {
    const auto at = reinterpret_cast<uint64_t>(bell.data());
    return *reinterpret_cast<kernel::Doorbell*>((at + 63) / 64 * 64);
  }

  void Bind() {
    const auto address = [](const auto& memory) {
      return reinterpret_cast<uint64_t>(memory.data());
    };
    // Far from memory: what a kernel computes with it stays as it is.
    pager.slots = arena.empty() ? 0x10000 : address(arena);
    for (size_t row = 0; row < pinned.size(); ++row) {
      sources[row] = pinned[row].empty() ? other_source : address(pinned[row]);
    }
    for (size_t t = 0; t < tables.size(); ++t) {
      table_addresses[t] = address(tables[t]);
    }
    pager.sources = address(sources);
    pager.tables = address(table_addresses);
    pager.slot_of_row = address(slot_of_row);
    pager.row_of_slot = address(row_of_slot);
    pager.row_uses = address(uses);
    pager.ranges = address(ranges);
    pager.counts = address(counts);
    pager.trace = trace.empty() ? 0 : address(trace);
    pager.trace_steps =
        uint32_t(trace.size() / std::max<size_t>(1, TraceStep()));
    pager.bell = 0;
    if (bell.empty()) return;
    pager.bell = reinterpret_cast<uint64_t>(&Bell());
    Bell().staging = address(staging);
  }
  size_t TraceStep() const { return trace_top_k * pager.layers; }
  uint32_t trace_top_k = 1;

  void Show(Visible& visible) {
    const auto add = [&](const auto& memory) {
      if (!memory.empty()) {
        visible.Add(memory.data(), memory.size() * sizeof(memory[0]));
      }
    };
    visible.Add(&pager, sizeof(pager));
    add(sources), add(table_addresses), add(counts), add(slot_of_row);
    add(row_of_slot), add(ranges), add(uses), add(trace), add(arena);
    add(staging);
    for (const auto& table : tables) add(table);
    for (const auto& row : pinned) add(row);
    if (!bell.empty()) {
      visible.Add(&Bell(), sizeof(kernel::Doorbell) + Bell().ring * 4);
    }
  }

  // What the host does when the bell rings: the requests that it sees.
  template <class Read>
  void Serve(Read read) {
    kernel::Doorbell& at = Bell();
    std::atomic_ref<uint32_t> requested(at.requested), served(at.served);
    uint32_t next = served.load(std::memory_order_relaxed);
    while (int32_t(requested.load(std::memory_order_acquire) - next) > 0) {
      const uint32_t place = next % at.ring;
      read(at.RowOf(next), staging.data() + place * pager.row_bytes);
      served.store(++next, std::memory_order_release);
    }
  }
};

}  // namespace glm

#endif  // TEST_KERNELS_PAGING_MEMORY_H_
