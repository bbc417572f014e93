// `StepClock` tells other threads how the engine's thread gets on with its
// device: when a step last ended, and since when a call that has not returned
// has had nothing to show. Private to runtime/engine.
#ifndef GLM_RUNTIME_ENGINE_STEP_CLOCK_H_
#define GLM_RUNTIME_ENGINE_STEP_CLOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace glm {

// One thread works; any thread looks.
class StepClock {
 public:
  using Clock = std::chrono::steady_clock;

  // While it lives, the thread waits for the device, or may.
  class Work {
   public:
    explicit Work(StepClock& clock) : clock_(clock) {
      clock_.since_.store(Now());
    }
    ~Work() { clock_.since_.store(0); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    StepClock& clock_;
  };

  // A step has ended, well or not, in the middle of Work: what follows has been
  // at it since now.
  void StepEnded() {
    const int64_t now = Now();
    last_.store(now);
    since_.store(now);
  }

  std::optional<Clock::time_point> last_step() const { return At(last_); }
  std::optional<Clock::time_point> in_flight_since() const {
    return At(since_);
  }

 private:
  // 0 stands for never.
  static int64_t Now() {
    return Clock::now().time_since_epoch() / std::chrono::nanoseconds(1) | 1;
  }
  static std::optional<Clock::time_point> At(const std::atomic<int64_t>& time) {
    const int64_t count = time.load();
    if (count == 0) return std::nullopt;
    return Clock::time_point(std::chrono::duration_cast<Clock::duration>(
        std::chrono::nanoseconds(count)));
  }

  std::atomic<int64_t> last_{0}, since_{0};
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_STEP_CLOCK_H_
