#include "runtime/base/start_thread.h"

#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace glm {

absl::StatusOr<std::thread> StartThread(const std::string& what,
                                        std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no thread for ", what, ": ", error.what(),
        "; raise the limits of threads and memory (ulimit -u, ulimit -v, the "
        "control group's pids.max)"));
  }
}

}  // namespace glm
