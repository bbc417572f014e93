// A thread, or a status where the system gives none: the standard library
// throws, which ends programs that do not expect it.
#ifndef GLM_RUNTIME_BASE_START_THREAD_H_
#define GLM_RUNTIME_BASE_START_THREAD_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace glm {

// `what` names it in the error: "rank 1".
// Errors: kResourceExhausted with the system's reason and the remedy.
absl::StatusOr<std::thread> StartThread(const std::string& what,
                                        std::function<void()> run);

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_START_THREAD_H_
