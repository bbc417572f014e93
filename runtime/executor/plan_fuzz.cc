// The reader on arbitrary bytes, and what tools compute from a plan that it
// lets pass. The header's size and hash are repaired, so that mutations reach
// the verifier and the validator.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/executor/describe.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  const auto header = glm::plan::MakeFileHeader(
      size, size + glm::plan::kFlatbufferOffset, XXH3_64bits(data, size));
  const int fd = memfd_create("plan", MFD_CLOEXEC);
  if (write(fd, &header, sizeof(header)) != sizeof(header) ||
      write(fd, data, size) != static_cast<ssize_t>(size)) {
    __builtin_trap();
  }
  const auto file = glm::PlanFile::Open("/proc/self/fd/" + std::to_string(fd));
  if (file.ok()) {
    const glm::plan::Plan& plan = (*file)->plan();
    if (plan.entries()->size() == 0) __builtin_trap();
    for (const glm::plan::Entry* entry : *plan.entries()) {
      if (glm::DescribeEntry(*entry).launches == 0) __builtin_trap();
    }
    glm::DescribeModel(*plan.model());
    const auto memory = glm::PlanMemory(plan, {.slots = 4096, .staging = true});
    if (memory.Committed() < memory.states) __builtin_trap();  // wrapped
    (void)memory.ToString();
  }
  close(fd);
  return 0;
}
