// In which order the waves and blocks of a launch run. Internal to test/gfxemu.
#ifndef TEST_GFXEMU_SCHEDULE_H_
#define TEST_GFXEMU_SCHEDULE_H_

#include <functional>
#include <memory>
#include <vector>

#include "test/gfxemu/machine.h"

namespace gfxemu {

// Why a wave stopped.
enum class Stop : u8 { kEnd, kBarrier, kPause, kSlice };

// A block that is being run: its LDS, its waves and where each of them stopped.
struct Block {
  Group group;
  vector<std::unique_ptr<Wave>> waves;
  u64 number = 0;
  vector<Stop> stops;
  vector<int> order;   // of the waves in this round
  size_t next = 0;     // in order
  bool live = false;   // this round met a wave that has not ended,
  bool ran = false;    // and one that does not wait at a barrier
  u64 stretch = 0;     // instructions that a wave may get at a time
  u32 held = 0;        // bits: waves that are kept from running
  u64 held_until = 0;  // this step of the launch
  u64 polls = 0;       // runs from one s_sleep to the next, and nothing else
  bool Asleep() const { return polls >= waves.size(); }
};

// Runs blocks [first, end). Seed 0: blocks in order, each to its end; its waves
// in order, each up to its next barrier or s_sleep. Else: blocks start in any
// order, no further than kWindow from their places, and kBusy of them run by
// turns of a wave beside those that wait at s_sleep, of which there may be any
// number; now and then waves are held while all others go on. Fails when all
// wait and none gets on.
class Schedule {
 public:
  struct Calls {
    std::function<void(Block&)> start;          // sets the LDS and the waves
    std::function<Stop(Wave&, u64 slice)> run;  // up to `slice` instructions
    std::function<void(const Block&)> ended;
  };

  Schedule(u64 first, u64 end, u64 seed, u32 waves, Calls calls);
  void Run();

 private:
  using Blocks = vector<std::unique_ptr<Block>>;

  u64 Random();
  template <class X>
  void Shuffle(X* x, size_t n) {
    for (size_t i = n; i > 1; i--) std::swap(x[i - 1], x[Random() % i]);
  }
  u64 NextNumber();
  bool MayStart() const;
  void Start();
  bool Step(Block& block);  // a wave, or none; false when all had ended
  void NewRound(Block& block);
  [[noreturn]] void FailAsleep() const;

  u64 begin_, end_, seed_, state_, steps_ = 0;
  u32 waves_;
  Calls calls_;
  vector<u64> window_;  // the next to start, last first
  Blocks busy_, asleep_, unused_;
};

}  // namespace gfxemu

#endif  // TEST_GFXEMU_SCHEDULE_H_
