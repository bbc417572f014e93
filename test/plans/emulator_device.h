// A Device whose kernels are gfx1201 code objects, run by test/gfxemu. It has
// memory of its own: what the host may not see on a card, it does not see here.
#ifndef TEST_PLANS_EMULATOR_DEVICE_H_
#define TEST_PLANS_EMULATOR_DEVICE_H_

#include <cstdint>
#include <memory>

#include "runtime/device/device.h"

namespace glm {

// `seed` chooses the order in which waves run (gfxemu::Launch). Errors of a
// kernel are those of the launch. Not thread-safe.
std::unique_ptr<Device> CreateEmulatorDevice(uint64_t seed);

}  // namespace glm

#endif  // TEST_PLANS_EMULATOR_DEVICE_H_
