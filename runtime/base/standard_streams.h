// What a program does about its standard streams.
#ifndef GLM_RUNTIME_BASE_STANDARD_STREAMS_H_
#define GLM_RUNTIME_BASE_STANDARD_STREAMS_H_

#include "absl/status/status.h"

namespace glm {

// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed, so that no
// file opened later takes its place. Call before anything is opened.
void OpenStandardStreams();

// Flushes stdout. kUnavailable, with the reason, when some output was lost.
absl::Status FlushStandardOutput();

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_STANDARD_STREAMS_H_
