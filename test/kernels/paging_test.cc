// find_rows beside ExpertCache, step by step; copy_rows moves what find_rows
// lists, from pinned memory and by the doorbell.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "glm/copy_rows.h"
#include "glm/find_rows.h"
#include "gtest/gtest.h"
#include "runtime/paging/cache_policy.h"
#include "runtime/paging/expert_cache.h"
#include "test/kernels/kernel_case.h"
#include "test/kernels/paging_memory.h"

namespace glm {
namespace {

#include "test/kernels/paging_kernels.inc"

struct Shape {
  KernelCase::Entry find, copy;
  paging::TraceShape shape;
  uint32_t slots;
};

Shape Small(uint32_t slots) {
  return {find_rows, copy_rows, {3, 24, 4}, slots};
}
Shape Large(uint32_t layers, uint32_t slots) {
  return {find_rows_of_288, copy_rows_of_288, {layers, 288, 8}, slots};
}

constexpr uint32_t kBlocks = uint32_t(kernel::kCopyBlocks);

// A cache, the pager that kernels keep beside it, and one layer of a step.
class Paged {
 public:
  Paged(const Shape& shape, const std::string& policy, Batch batch,
        uint32_t pieces = 2, uint64_t row_bytes = 4096)
      : shape_(shape),
        batch_(std::move(batch)),
        cache_(Cache(shape, policy, uint32_t(batch_.rows()))),
        memory_(cache_, pieces, row_bytes),
        ids_(batch_.rows() * shape.shape.top_k),
        chosen_(ids_.size()),
        arrivals_(shape.shape.experts * kTestWeights, 77),
        most_(std::min<size_t>(shape.shape.experts, ids_.size())),
        moves_(1 + 2 * most_),
        random_(uint32_t(shape.slots)) {
    memory_.trace_top_k = shape.shape.top_k;
  }

  PagingMemory& memory() { return memory_; }
  paging::ExpertCache& cache() { return cache_; }
  const std::vector<int32_t>& moves() const { return moves_; }
  // Accesses of more rows than their layer's range holds, and others that
  // missed some.
  uint32_t large() const { return large_; }
  uint32_t small() const { return small_; }
  uint32_t rows() const { return shape_.shape.rows(); }

  // Choices as routers make them: some experts more often, those of the step
  // before again, and now and then none or numbers that are no expert's. Rows
  // from `rows` on choose none.
  void Choose(uint32_t step, uint32_t layer, int64_t rows = INT64_MAX) {
    const uint32_t experts = shape_.shape.experts;
    const uint32_t top_k = shape_.shape.top_k;
    rows = std::min(rows, batch_.rows());
    std::fill(ids_.begin() + rows * top_k, ids_.end(), -1);
    for (int64_t row = 0; row < rows; ++row) {
      std::set<int32_t> used;
      for (uint32_t s = 0; s < top_k; ++s) {
        int32_t id;
        do {
          const uint32_t a = random_() % experts, b = random_() % experts;
          id = int32_t((std::min(a, b) + layer * 5 + step / 40) % experts);
        } while (!used.insert(id).second);
        int32_t& at = ids_[row * top_k + s];
        if (step == 0 || random_() % 3 != 0) at = id;
      }
      if (random_() % 50 == 0) ids_[row * top_k] = -1 - int32_t(random_() % 3);
      if (random_() % 50 == 0) ids_[row * top_k + 1] = int32_t(experts);
    }
  }

  // One layer of both. `trace`: the choices that stand for the step's own.
  void Step(uint32_t layer, const int32_t* trace = nullptr) {
    const uint32_t top_k = shape_.shape.top_k;
    std::vector<int32_t> want(ids_.size(), -1);
    std::set<uint16_t> distinct;
    for (size_t i = 0; i < ids_.size(); ++i) {
      const int32_t id = trace != nullptr ? trace[i % top_k] : ids_[i];
      if (!batch_.Valid(int64_t(i / top_k)) || id < 0 ||
          id >= int32_t(shape_.shape.experts)) {
        continue;
      }
      want[i] = id;
      distinct.insert(uint16_t(id));
    }
    const std::vector<uint16_t> experts(distinct.begin(), distinct.end());
    placements_.assign(experts.size(), {});
    if (layer == 0) cache_.BeginStep();
    ASSERT_TRUE(cache_.Access(layer, experts, placements_).ok());
    std::vector<int32_t> want_moves = {0};
    for (size_t i = 0; i < experts.size(); ++i) {
      if (!placements_[i].loaded) continue;
      ++want_moves[0];
      want_moves.push_back(int32_t(layer * shape_.shape.experts + experts[i]));
      want_moves.push_back(int32_t(placements_[i].slot));
    }
    misses_ = uint32_t(want_moves[0]);
    const paging::ExpertCache::Slots own = cache_.SlotsOf(layer);
    large_ += experts.size() > own.size();
    small_ += misses_ > 0 && experts.size() <= own.size();

    std::fill(chosen_.begin(), chosen_.end(), 77);
    Find(layer);
    ASSERT_EQ(chosen_, want);
    ASSERT_EQ(std::vector<int32_t>(moves_.begin(),
                                   moves_.begin() + want_moves.size()),
              want_moves);
    CheckArrivals(false);
    CheckState(layer, experts.size());
  }

  void Find(uint32_t layer) {
    Launch(shape_.find, 1,
           {Address(ids_), Address(&memory_.pager), layer, Address(chosen_),
            Address(moves_), Address(arrivals_)});
  }
  // Blocks begin .. end - 1.
  void Copy(uint64_t begin = 0, uint64_t end = kBlocks) {
    Launch(shape_.copy, kBlocks,
           {Address(moves_), Address(&memory_.pager), Address(arrivals_)},
           begin, end);
  }
  // Of each weight of the chosen experts' rows, what blocks have counted.
  void CheckArrivals(bool copied) {
    const uint32_t experts = shape_.shape.experts;
    std::vector<int32_t> want(experts, int32_t(kBlocks));
    for (int32_t j = 0; j < moves_[0] && !copied; ++j) {
      want[uint32_t(moves_[1 + 2 * j]) % experts] = 0;
    }
    for (const int32_t id : chosen_) {
      if (id < 0) continue;
      for (uint32_t w = 0; w < kTestWeights; ++w) {
        ASSERT_EQ(arrivals_[uint32_t(id) * kTestWeights + w], want[id]) << id;
      }
    }
  }

 private:
  static paging::ExpertCache Cache(const Shape& shape, const std::string& name,
                                   uint32_t tokens) {
    paging::CacheOptions options;
    options.shape = shape.shape;
    options.policy = *paging::FindPolicy(name);
    options.slots = shape.slots;
    options.step_tokens = tokens;
    if (options.policy.pinned) {
      const uint32_t rows = shape.shape.rows();
      for (uint32_t i = 0; i < shape.slots / 4; ++i) {
        options.pinned_rows.push_back((i * 7 + 3) % rows);
      }
    }
    return *paging::ExpertCache::Create(options);
  }

  template <class T>
  static uint64_t Address(const std::vector<T>& memory) {
    return reinterpret_cast<uint64_t>(memory.data());
  }
  static uint64_t Address(const void* memory) {
    return reinterpret_cast<uint64_t>(memory);
  }

  void Launch(KernelCase::Entry entry, uint32_t blocks,
              std::vector<uint64_t> words, uint64_t begin = 0,
              uint64_t end = 0) {
    if (begin == 0 && (end == 0 || end == blocks)) memory_.Bind();
    Visible visible;
    memory_.Show(visible);
    for (const auto* ints :
         {&ids_, &chosen_, &arrivals_, &moves_, &batch_.table}) {
      if (!ints->empty()) visible.Add(ints->data(), ints->size() * 4);
    }
    const uint64_t table = batch_.table.empty() ? 0 : Address(batch_.table);
    words.insert(words.begin(),
                 {table, uint64_t(batch_.tokens), uint64_t(batch_.rows())});
    const uint32_t grid[3] = {blocks, 1, 1};
    LaunchKernel(entry, words, grid, begin, end == 0 ? blocks : end, visible,
                 ++launches_ % 5);
  }

  void CheckState(uint32_t layer, size_t accesses) {
    ASSERT_EQ(memory_.pager.step, cache_.step());
    const auto equal = [](const auto& got, const auto& want) {
      return std::equal(got.begin(), got.end(), want.begin(), want.end());
    };
    ASSERT_TRUE(equal(memory_.slot_of_row, cache_.slot_of_row()));
    ASSERT_TRUE(equal(memory_.row_of_slot, cache_.row_of_slot()));
    static_assert(sizeof(paging::RowUse) == sizeof(kernel::RowUse));
    ASSERT_EQ(memcmp(memory_.uses.data(), cache_.row_uses().data(),
                     memory_.uses.size() * sizeof(kernel::RowUse)),
              0);
    static_assert(sizeof(paging::ReuseEstimate) ==
                  sizeof(kernel::ReuseEstimate));
    ASSERT_EQ(memcmp(&memory_.pager.reuse, &cache_.reuse(),
                     sizeof(kernel::ReuseEstimate)),
              0);
    counted_.resize(memory_.counts.size());
    counted_[4 * layer] += accesses;
    counted_[4 * layer + 1] += misses_;
    ++counted_[4 * layer + 3];
    for (size_t i = 0; i < counted_.size(); ++i) {
      if (i % 4 != 2) ASSERT_EQ(memory_.counts[i], counted_[i]) << i;
    }
    // What moved is where the products look for it.
    const kernel::Pager& pager = memory_.pager;
    if (!memory_.arena.empty()) return;
    for (uint32_t j = 0; j < misses_; ++j) {
      const uint32_t expert = uint32_t(moves_[1 + 2 * j]) % pager.experts;
      const uint64_t at = 0x10000 + moves_[2 + 2 * j] * pager.row_bytes;
      for (uint32_t p = 0; p < kTestWeights * pager.pieces; ++p) {
        const auto& table =
            memory_.tables[layer * kTestWeights + p / pager.pieces];
        ASSERT_EQ(table[expert * pager.pieces + p % pager.pieces],
                  at + pager.offsets[p]);
      }
    }
  }

  Shape shape_;
  Batch batch_;
  paging::ExpertCache cache_;
  PagingMemory memory_;
  std::vector<int32_t> ids_, chosen_, arrivals_;
  size_t most_;
  std::vector<int32_t> moves_;
  std::vector<paging::Placement> placements_;
  std::vector<uint64_t> counted_;
  std::minstd_rand random_;
  uint32_t misses_ = 0, large_ = 0, small_ = 0;
  std::atomic<uint32_t> launches_ = 0;
};

void RunSteps(Paged& paged, uint32_t layers, uint32_t steps) {
  for (uint32_t step = 0; step < steps; ++step) {
    for (uint32_t layer = 0; layer < layers; ++layer) {
      SCOPED_TRACE("step " + std::to_string(step) + " layer " +
                   std::to_string(layer));
      paged.Choose(step, layer);
      paged.Step(layer);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

class EachPolicy : public testing::TestWithParam<std::string> {};

// Long enough that counts age often, uses are halved, and every bonus moves.
TEST_P(EachPolicy, OneToken) {
  Paged paged(Small(30), GetParam(), Batch::Whole(1));
  RunSteps(paged, 3, 280);
}

TEST_P(EachPolicy, FourTokens) {
  Paged paged(Small(64), GetParam(), Batch::Ragged(4, 1), /*pieces=*/1);
  RunSteps(paged, 3, 60);
}

TEST_P(EachPolicy, EveryRowFits) {
  Paged paged(Small(96), GetParam(), Batch::Whole(4));
  RunSteps(paged, 3, 20);
  if (GetParam() == "pinned-lru") return;
  EXPECT_LE(paged.memory().counts[1], paged.memory().counts[0] / 2);
}

// All experts of a layer at once, then one token's.
TEST_P(EachPolicy, ManyTokens) {
  Paged paged(Large(2, 700), GetParam(), Batch::Ragged(2, 64));
  RunSteps(paged, 2, 6);
}

// A few tokens a step, which ask for up to a layer's share and a little more,
// after prompts, which ask for more. A share is less than a block's work-items.
TEST_P(EachPolicy, FewTokensAfterMany) {
  Paged paged(Small(33), GetParam(), Batch::Whole(8));
  for (uint32_t step = 0; step < 90; ++step) {
    for (uint32_t layer = 0; layer < 3; ++layer) {
      SCOPED_TRACE("step " + std::to_string(step) + " layer " +
                   std::to_string(layer));
      paged.Choose(step, layer, (step + layer) % 30 < 2 ? 8 : 1 + step % 4);
      paged.Step(layer);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(paged.small(), 50u);
  if (GetParam().starts_with("quota")) EXPECT_GE(paged.large(), 15u);
}

// The same of a share that large accesses exceed, of one that a block's
// work-items just hold, and of one that they do not.
TEST_P(EachPolicy, OneTokenAfterManyOfALargeLayer) {
  for (const uint32_t slots : {400, 3 * 256, 3 * 257}) {
    Paged paged(Large(3, slots), GetParam(), Batch::Whole(90));
    for (uint32_t step = 0; step < 5; ++step) {
      for (uint32_t layer = 0; layer < 3; ++layer) {
        SCOPED_TRACE("step " + std::to_string(step) + " layer " +
                     std::to_string(layer));
        paged.Choose(step, layer, step % 2 == 0 ? 90 : 1);
        paged.Step(layer);
        if (HasFatalFailure()) return;
      }
    }
    const bool exceeds = GetParam().starts_with("quota") && slots == 400;
    EXPECT_EQ(paged.large(), exceeds ? 9u : 0u);
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const paging::Policy& policy : paging::Policies()) {
    names.push_back(policy.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Policies, EachPolicy, testing::ValuesIn(Names()),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

// Thousands of candidates: what a bound lists is a few of them.
TEST(FindRows, ManySlots) {
  for (const char* policy : {"lru", "lfru"}) {
    Paged paged(Large(20, 4000), policy, Batch::Whole(40));
    RunSteps(paged, 20, 2);
  }
}

// The slots of one work-item come first, so that its bound lists too many.
TEST(FindRows, VictimsOfOneWorkItem) {
  Paged paged(Large(40, 40 * 288), "lru", Batch::Whole(64));
  PagingMemory& memory = paged.memory();
  std::vector<std::pair<uint64_t, uint32_t>> order;
  const uint32_t slots = memory.pager.slot_count;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    memory.row_of_slot[slot] = slot;
    memory.slot_of_row[slot] = slot;
    // Row 0's layer is asked for: none of its rows is there.
    const bool first = slot % 256 < 40;
    memory.uses[slot] = {first ? 1 + slot % 256 : 1000 + slot, 1, 0};
  }
  for (uint32_t slot = 0; slot < 288; ++slot) {
    memory.slot_of_row[slot] = kernel::kNoRow;
    memory.row_of_slot[slot] = kernel::kNoRow;
    memory.uses[slot] = {};
  }
  memory.ranges[0] = 288;
  for (uint32_t slot = 288; slot < slots; ++slot) {
    order.push_back({uint64_t{memory.uses[slot].used_at} << 32 | slot, slot});
  }
  std::sort(order.begin(), order.end());
  memory.pager.step = 100000;
  paged.Choose(0, 0);
  paged.Find(0);
  const int32_t moved = paged.moves()[0];
  ASSERT_GT(moved, 100);
  for (int32_t j = 0; j < moved; ++j) {
    ASSERT_EQ(paged.moves()[2 + 2 * j], int32_t(order[j].second)) << j;
  }
}

TEST(FindRows, ATraceStandsForTheChoices) {
  Paged paged(Small(30), "lfru", Batch::Ragged(1, 2));
  std::vector<int32_t>& trace = paged.memory().trace;
  std::minstd_rand random(3);
  for (int i = 0; i < 5 * 3; ++i) {  // steps * layers
    const int32_t base = int32_t(random() % 20);
    for (int32_t s = 0; s < 4; ++s) trace.push_back(base + s);
  }
  const std::vector<int32_t> choices = trace;
  for (uint32_t step = 0; step < 12; ++step) {
    for (uint32_t layer = 0; layer < 3; ++layer) {
      paged.Choose(step, layer);
      paged.Step(layer, choices.data() + (step % 5 * 3 + layer) * 4);
    }
  }
}

// Fewer slots than rows that a layer misses, which no runtime makes: what has
// none is not moved, and the kernel ends.
TEST(FindRows, ARangeThatIsTooSmall) {
  Paged paged(Small(30), "lru", Batch::Whole(4));
  std::vector<uint32_t>& ranges = paged.memory().ranges;
  ranges[1] = ranges[2 * 3 + 1] = 3;  // layer 0's, and what is there for all
  paged.Choose(0, 0);
  paged.Find(0);
  EXPECT_EQ(paged.moves()[0], 3);
}

// ----------------------------------------------------------------- copy_rows

std::vector<uint8_t> RowBytes(uint32_t row, uint64_t bytes) {
  std::vector<uint8_t> all(bytes);
  std::minstd_rand random(row + 1);
  for (uint8_t& byte : all) byte = uint8_t(random() >> 7);
  return all;
}

// Every row that is in a slot is there whole.
void CheckArena(Paged& paged) {
  PagingMemory& memory = paged.memory();
  const uint64_t bytes = memory.pager.row_bytes;
  for (uint32_t row = 0; row < paged.rows(); ++row) {
    const uint32_t slot = memory.slot_of_row[row];
    if (slot == kernel::kNoRow) continue;
    ASSERT_EQ(memcmp(memory.arena.data() + slot * bytes,
                     RowBytes(row, bytes).data(), bytes),
              0)
        << "row " << row << " slot " << slot;
  }
}

void FillPinned(Paged& paged, uint32_t every) {
  PagingMemory& memory = paged.memory();
  for (uint32_t row = 0; row < paged.rows(); ++row) {
    const bool there = every == 0 || row % every != 0;
    memory.pinned[row] =
        there ? RowBytes(row, memory.pager.row_bytes) : std::vector<uint8_t>();
  }
  memory.other_source = 0;
  memory.arena.resize(memory.pager.slot_count * memory.pager.row_bytes);
}

TEST(CopyRows, FromPinnedMemory) {
  for (uint64_t bytes : {uint64_t{4096}, uint64_t{5 * 4096}}) {
    Paged paged(Small(30), "lru", Batch::Ragged(3, 2), 2, bytes);
    FillPinned(paged, 0);
    for (uint32_t step = 0; step < 4; ++step) {
      for (uint32_t layer = 0; layer < 3; ++layer) {
        paged.Choose(step, layer);
        paged.Step(layer);
        paged.Copy();
        paged.CheckArrivals(true);
        CheckArena(paged);
      }
    }
  }
}

// More bytes than all work-items load at once.
TEST(CopyRows, ALongRow) {
  const uint64_t bytes = (1 << 20) + 9 * 4096;
  Paged paged(Small(4), "lru", Batch::Whole(1), 2, bytes);
  PagingMemory& memory = paged.memory();
  memory.arena.resize(memory.pager.slot_count * bytes);
  paged.Choose(0, 0);
  paged.Find(0);
  ASSERT_GE(paged.moves()[0], 1);
  for (int32_t j = 0; j < paged.moves()[0]; ++j) {
    const uint32_t row = uint32_t(paged.moves()[1 + 2 * j]);
    memory.pinned[row] = RowBytes(row, bytes);
  }
  paged.Copy();
  CheckArena(paged);
}

TEST(CopyRows, ByTheDoorbell) {
  Paged paged(Small(40), "lru", Batch::Whole(4), 2, 2 * 4096);
  FillPinned(paged, 3);
  PagingMemory& memory = paged.memory();
  memory.MakeBell(16);
  // Numbers wrap.
  kernel::Doorbell& bell = memory.Bell();
  memory.pager.asked = bell.requested = bell.served = bell.taken = ~3u;
  uint32_t asked = ~3u;
  for (uint32_t step = 0; step < 5; ++step) {
    for (uint32_t layer = 0; layer < 3; ++layer) {
      paged.Choose(step, layer);
      paged.Step(layer);
      for (int32_t j = 0; j < paged.moves()[0]; ++j) {
        asked += paged.moves()[1 + 2 * j] % 3 == 0;
      }
      ASSERT_EQ(bell.requested, asked);
      ASSERT_EQ(memory.pager.asked, asked);
      memory.Serve([&](uint32_t row, uint8_t* to) {
        memcpy(to, RowBytes(row, 2 * 4096).data(), 2 * 4096);
      });
      paged.Copy();
      paged.CheckArrivals(true);
      CheckArena(paged);
      ASSERT_EQ(bell.taken, asked);
      ASSERT_EQ(memory.pager.arrived, 0u);
    }
  }
  uint64_t counted = 0;
  for (uint32_t layer = 0; layer < 3; ++layer) {
    counted += memory.counts[4 * layer + 2];
  }
  EXPECT_EQ(uint32_t(counted), asked - ~3u);
  EXPECT_GT(counted, 10u);
}

// More rows than the ring has places. What is staged was served before, so a
// request gets what lies in its place.
TEST(CopyRows, MoreThanTheRing) {
  const uint64_t bytes = 4096;
  Paged paged(Small(40), "lru", Batch::Whole(4), 2, bytes);
  FillPinned(paged, 1);
  PagingMemory& memory = paged.memory();
  memory.MakeBell(4);
  paged.Choose(0, 0);
  paged.Find(0);
  const uint32_t count = uint32_t(paged.moves()[0]);
  ASSERT_GT(count, 8u);
  kernel::Doorbell& bell = memory.Bell();
  EXPECT_EQ(bell.requested, 4u);
  for (uint32_t place = 0; place < 4; ++place) {
    const auto row = RowBytes(place, bytes);
    std::copy(row.begin(), row.end(), memory.staging.begin() + place * bytes);
  }
  bell.served = count;
  paged.Copy();
  paged.CheckArrivals(true);
  EXPECT_EQ(bell.requested, count);
  EXPECT_EQ(bell.taken, count);
  EXPECT_EQ(memory.pager.arrived, 0u);
  for (uint32_t k = 0; k < count; ++k) {
    EXPECT_EQ(bell.RowOf(count - 1 - k % 4),
              uint32_t(paged.moves()[1 + 2 * (count - 1 - k % 4)]));
    const uint64_t slot = uint64_t(paged.moves()[2 + 2 * k]);
    EXPECT_EQ(memcmp(memory.arena.data() + slot * bytes,
                     RowBytes(k % 4, bytes).data(), bytes),
              0)
        << k;
  }
}

#if !defined(GLM_TEST_GFX1201) && !defined(GLM_TEST_SM_90)

// The host answers while blocks wait, on several threads of them or one after
// the other, with a ring that every step goes around more than once.
TEST(CopyRows, AHostThatAnswersMeanwhile) {
  const uint64_t bytes = 2 * 4096;
  for (const uint64_t threads : {1, 4}) {
    Paged paged(Small(40), "lru", Batch::Whole(4), 2, bytes);
    FillPinned(paged, 2);
    PagingMemory& memory = paged.memory();
    memory.MakeBell(2);
    std::atomic<bool> stop = false;
    std::thread host([&] {
      while (!stop) {
        memory.Serve([&](uint32_t row, uint8_t* to) {
          memcpy(to, RowBytes(row, bytes).data(), bytes);
        });
        std::this_thread::yield();
      }
    });
    for (uint32_t step = 0; step < 6; ++step) {
      for (uint32_t layer = 0; layer < 3; ++layer) {
        paged.Choose(step, layer);
        paged.Step(layer);
        std::vector<std::thread> workers;
        for (uint64_t t = 0; t < threads; ++t) {
          const uint64_t first = (threads - 1 - t) * kBlocks / threads;
          workers.emplace_back(
              [&, first] { paged.Copy(first, first + kBlocks / threads); });
        }
        for (std::thread& worker : workers) worker.join();
        paged.CheckArrivals(true);
        CheckArena(paged);
      }
    }
    stop = true;
    host.join();
  }
}

#endif

}  // namespace
}  // namespace glm
