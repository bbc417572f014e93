// For tests of what happens where the system gives no more threads.
#ifndef GLM_RUNTIME_BASE_SCARCE_THREADS_H_
#define GLM_RUNTIME_BASE_SCARCE_THREADS_H_

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace glm {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadsCanBeScarce = false;
#elif defined(__has_feature)
// Sanitizers need more address space than a limit can leave.
inline constexpr bool kThreadsCanBeScarce =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadsCanBeScarce = true;
#endif

// Leaves this process address space for a few stacks: for a child alone, as of
// EXPECT_EXIT.
inline void MakeThreadsScarce() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes =
      pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (32 << 20);
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_SCARCE_THREADS_H_
