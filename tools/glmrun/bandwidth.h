// How fast this machine moves bytes when it does nothing else: what a step's
// rate is compared with.
#ifndef GLM_TOOLS_GLMRUN_BANDWIDTH_H_
#define GLM_TOOLS_GLMRUN_BANDWIDTH_H_

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm::tools {

// Bytes a second that `threads` threads of the host read from memory together,
// measured over 256 MiB, best of three.
double MeasureReadBandwidth(int threads);

// Bytes a second of copies within the memory of `device`, read and written
// bytes counted, median of 21 copies of 256 MiB; of less where there is no room
// for two such ranges. 0: not even 16 MiB are free.
absl::StatusOr<double> MeasureCopyBandwidth(Device& device);

// Bytes a second of copies from memory of the host to that of `device`, median
// of 21 copies of 64 MiB; of less, and 0, as above.
absl::StatusOr<double> MeasureLinkBandwidth(Device& device);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_BANDWIDTH_H_
