// Ranks of the host that meet in memory: threads of one process, each with a
// host device of its own.
//
// A sum is cut among the ranks: rank r adds up its part of everyone's input, in
// order of the ranks, and writes it to everyone's output. So all have the same
// bits, and a sum in place needs no copy.
#ifndef GLM_RUNTIME_DEVICE_HOST_HOST_COLLECTIVE_H_
#define GLM_RUNTIME_DEVICE_HOST_HOST_COLLECTIVE_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/device/collective.h"

namespace glm {

struct HostGroupOptions {
  // How long a rank waits for the others. Ranks of the host take turns on its
  // cores, and one of them may be watched launch by launch.
  std::chrono::milliseconds time_limit = std::chrono::minutes(5);
};

// `ranks` >= 1. Works on queues that do their work in the caller; memories must
// have host_data().
std::unique_ptr<CollectiveGroup> CreateHostGroup(uint32_t ranks,
                                                 HostGroupOptions options = {});

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_HOST_HOST_COLLECTIVE_H_
