// phases.h - many launches in one grid: parts of a launch, phases that wait.
//
// A generated group body (docs/spec/kernels.md, Groups) is made of these:
//
//   const Phases phases(args.Pointer(0));
//   const int64_t b = block.x;
//   if (b < 256) {                            // a chain of the first phase
//     const Args own = args.From(1);
//     const int64_t part = b, r = part / 256, x = part % 256;
//     EachPart<1, 1, 256, 256, 1, 1>(block, r, x, [&](auto& of) GLM_INLINE {
//       Linear_1_1_0_8192_4096_member(of, own.From(0));
//     });
//   }
//   if (b < 256) { phases.Done(0); return; }
//   phases.Await(0, 256);                     // the second phase's blocks
//   ...
//   phases.Finish(1, 64);
//
// The counters are zero before the launch and after it: the last block of the
// last phase clears them. On the host phases are launches of their own, and
// the words do nothing.
#pragma once

#include "glm/block.h"

namespace glm::kernel {

#ifndef GLM_GPU

GLM_FN void PartEnd() {}

struct Phases {
  GLM_FN explicit Phases(void*) {}
  GLM_FN int64_t Among(int64_t block, int64_t, int64_t, int64_t) const {
    return block;
  }
  GLM_FN void Done(int) const {}
  GLM_FN void Await(int, uint32_t) const {}
  GLM_FN void Finish(int, uint32_t) const {}
};

#else

// What follows sees what this part stored, also where a body returned early.
GLM_FN void PartEnd() { Barrier(); }

struct Phases {
  uint32_t* counters;  // blocks that have ended, a phase each

  GLM_FN explicit Phases(void* memory)
      : counters(static_cast<uint32_t*>(memory)) {}

  // Blocks start in order: the `many` blocks from `first` on take the places
  // from `place` on, so that they need not come after all before them.
  GLM_FN int64_t Among(int64_t block, int64_t place, int64_t first,
                       int64_t many) const {
    if (block < place || block >= first + many) return block;
    return block < place + many ? block - place + first : block - many;
  }

  // The end of a block of `phase`.
  GLM_FN void Done(int phase) const {
    Barrier();
    if (Thread() == 0) {  // releases what it has seen all others store
      ReleaseToDevice();
      CountUp(counters + phase);
    }
  }

  // Waits until `blocks` blocks of `phase` have ended.
  GLM_FN void Await(int phase, uint32_t blocks) const {
    if (Thread() == 0) {
      while (ReadCounter(counters + phase) < blocks) Pause();
      AcquireForBlock();
    }
    Barrier();
    AcquireFromDevice();
  }

  // The end of a block of the last phase.
  GLM_FN void Finish(int phase, uint32_t blocks) const {
    Barrier();
    if (Thread() == 0 && CountUp(counters + phase) == blocks - 1) {
      for (int p = 0; p <= phase; ++p) ClearCounter(counters + p);
    }
  }
};

#endif  // GLM_GPU

// A block of a launch that has kMost rows.
template <int64_t kMost, int64_t kWide = 1>
struct BlockOfRows : Block {
  static constexpr int64_t kRows = kMost;
  static constexpr int64_t kNeighbours = kWide;
};

// The blocks of a launch of kMost rows that are part (r, x) of a chain:
// kHigh x kWide neighbours in a grid of kX x kY x ... whose rows have kAll
// blocks.
template <int64_t kHigh, int64_t kWide, int64_t kAll, int64_t kX, int64_t kY,
          int64_t kMost, class Body>
GLM_FN void EachPart(Block&, int64_t r, int64_t x, Body body) {
  for (int64_t i = 0; i < kHigh; ++i) {
    for (int64_t j = 0; j < kWide; ++j) {
      const uint32_t number = uint32_t((r * kHigh + i) * kAll + x * kWide + j);
      BlockOfRows<kMost> of{{int64_t(number % uint32_t(kX)),
                             int64_t(number / uint32_t(kX) % uint32_t(kY)),
                             int64_t(number / uint32_t(kX) / uint32_t(kY))}};
      body(of);
      PartEnd();
    }
  }
}

// The same for a body that takes its kWide neighbours at once.
template <int64_t kHigh, int64_t kWide, int64_t kAll, int64_t kX, int64_t kY,
          int64_t kMost, class Body>
GLM_FN void WidePart(Block&, int64_t r, int64_t x, Body body) {
  static_assert(kX % kWide == 0, "neighbours of one row of the grid");
  for (int64_t i = 0; i < kHigh; ++i) {
    const uint32_t number = uint32_t((r * kHigh + i) * kAll + x * kWide);
    BlockOfRows<kMost, kWide> of{
        {int64_t(number % uint32_t(kX)),
         int64_t(number / uint32_t(kX) % uint32_t(kY)),
         int64_t(number / uint32_t(kX) / uint32_t(kY))}};
    body(of);
    PartEnd();
  }
}

}  // namespace glm::kernel
