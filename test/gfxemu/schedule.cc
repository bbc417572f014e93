#include "test/gfxemu/schedule.h"

#include <algorithm>
#include <utility>

namespace gfxemu {
namespace {

constexpr size_t kBusy = 4, kAsleep = 1024;
constexpr u64 kWindow = 256;
// What a wave gets to ask again for what it waits for, and how often it asks.
constexpr u64 kAsk = 64, kAsks = 10000;
constexpr u64 kHold = 2048;  // steps

void Move(vector<std::unique_ptr<Block>>& from, size_t i,
          vector<std::unique_ptr<Block>>& to) {
  std::swap(from[i], from.back());
  to.push_back(std::move(from.back()));
  from.pop_back();
}

}  // namespace

Schedule::Schedule(u64 first, u64 end, u64 seed, u32 waves, Calls calls)
    : begin_(first),
      end_(end),
      seed_(seed),
      state_(seed * 0x9E3779B97F4A7C15ull + first + 1),
      waves_(waves),
      calls_(std::move(calls)) {}

u64 Schedule::Random() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return state_;
}

u64 Schedule::NextNumber() {
  if (window_.empty()) {
    const u64 stop = std::min(end_, begin_ + (seed_ ? kWindow : 1));
    while (begin_ < stop) window_.push_back(begin_++);
    Shuffle(window_.data(), window_.size());
  }
  const u64 number = window_.back();
  window_.pop_back();
  return number;
}

bool Schedule::MayStart() const {
  if (window_.empty() && begin_ >= end_) return false;
  if (!seed_) return busy_.empty() && asleep_.empty();
  return busy_.size() < kBusy && asleep_.size() < kAsleep;
}

void Schedule::Start() {
  if (unused_.empty()) {
    unused_.push_back(std::make_unique<Block>());
    for (u32 i = 0; i < waves_; i++) {
      unused_.back()->waves.push_back(std::make_unique<Wave>());
      unused_.back()->order.push_back(0);
    }
  }
  Block& block = *unused_.back();
  block.number = NextNumber();
  calls_.start(block);
  block.stops.assign(waves_, Stop::kSlice);
  for (u32 i = 0; i < waves_; i++) block.order[i] = int(i);
  block.held_until = 0;
  NewRound(block);
  constexpr u64 kStretch[] = {97, 4096, 1 << 20};
  block.stretch = kStretch[(seed_ + block.number) % 3];
  block.polls = 0;
  Move(unused_, unused_.size() - 1, busy_);
}

void Schedule::NewRound(Block& block) {
  if (!block.ran) {
    std::replace(block.stops.begin(), block.stops.end(), Stop::kBarrier,
                 Stop::kSlice);
  }
  block.next = 0;
  block.live = block.ran = false;
  if (!seed_) return;
  Shuffle(block.order.data(), waves_);
  if (steps_ >= block.held_until && Random() % 4 == 0) {
    block.held = u32(Random() >> 32);
    block.held_until = steps_ + Random() % kHold;
  }
}

bool Schedule::Step(Block& block) {
  for (;;) {
    if (block.next == waves_) {
      if (!block.live) return false;
      NewRound(block);
    }
    const int i = block.order[block.next++];
    const Stop was = block.stops[i];
    block.live |= was != Stop::kEnd;
    if (was == Stop::kEnd || was == Stop::kBarrier) continue;
    block.ran = true;
    if (steps_ < block.held_until && block.held >> i & 1) {
      // Not when no other block is there to go on.
      if (busy_.size() + asleep_.size() > 1) return true;
      block.held_until = 0;
    }
    u64 slice = seed_ ? 1 + Random() % block.stretch : ~u64{0};
    if (was == Stop::kPause) slice = std::max(slice, kAsk);
    const Stop now = calls_.run(*block.waves[i], slice);
    block.stops[i] = now;
    const bool poll = was == Stop::kPause && now == Stop::kPause;
    block.polls = poll ? block.polls + 1 : 0;
    return true;
  }
}

void Schedule::Run() {
  const Block* alone = nullptr;
  for (u64 asks = 0;; steps_++) {
    while (MayStart()) Start();
    if (busy_.empty() && asleep_.empty()) return;
    if (alone && Random() % 1024 == 0) alone = nullptr;
    const bool ask =
        !alone && !asleep_.empty() && (busy_.empty() || Random() % 2 == 0);
    Blocks& from = ask ? asleep_ : busy_;
    // Some of those that are busy get far more turns than others.
    size_t i = Random() % from.size();
    if (!ask) i = Random() % (i + 1);
    if (alone) {
      for (i = 0; from[i].get() != alone;) i++;
    }
    Block& block = *from[i];
    if (!Step(block)) {
      calls_.ended(block);
      Move(from, i, unused_);
      alone = nullptr;
      asks = 0;
    } else if (block.Asleep() != ask) {
      Move(from, i, ask ? busy_ : asleep_);
      // What woke it may have come too early: often it runs far ahead.
      alone = ask && seed_ && Random() % 2 ? &block : nullptr;
      asks = 0;
    } else if (ask && busy_.empty() && ++asks > kAsks * asleep_.size()) {
      FailAsleep();
    }
  }
}

void Schedule::FailAsleep() const {
  vector<u64> numbers;
  for (const auto& block : asleep_) numbers.push_back(block->number);
  std::sort(numbers.begin(), numbers.end());
  string text = "deadlock: at s_sleep for ever:";
  for (size_t i = 0; i < numbers.size() && i < 8; i++) {
    text += (i ? ", " : " block ") + std::to_string(numbers[i]);
  }
  if (numbers.size() > 8) {
    text += " and " + std::to_string(numbers.size() - 8) + " more";
  }
  if (!seed_) text += "; with seed 0 a block cannot wait for a later one";
  fail(text);
}

}  // namespace gfxemu
