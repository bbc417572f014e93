// Any text gives a configuration whose weights can be listed, or an error.
#include "models/glm53/Config.h"
#include "models/glm53/Weights.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<glm::glm53::Config> config =
      glm::glm53::Config::parse(text, "fuzz");
  if (!config) {
    llvm::consumeError(config.takeError());
    return 0;
  }
  glm::glm53::Weights weights = glm::glm53::Weights::declare(*config);
  for (const glm::glm53::WeightInfo &weight : weights.all())
    if (weight.bytes() == 0)
      std::abort();
  llvm::consumeError(config->mergeGeneration(text, "fuzz"));
  return 0;
}
