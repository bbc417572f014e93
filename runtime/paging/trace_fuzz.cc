// Any bytes are either a trace whose steps fit its shape, or give a status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "runtime/paging/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto reader = glm::paging::TraceReader::Read(
      std::make_unique<std::istringstream>(
          std::string(reinterpret_cast<const char*>(data), size)),
      "fuzz");
  if (!reader.ok()) return 0;
  glm::paging::RoutingStep step;
  while (true) {
    const auto more = (*reader)->Next(step);
    if (!more.ok() || !*more) return 0;
    if (!step.Check((*reader)->shape(), "fuzz").ok()) std::abort();
  }
}
