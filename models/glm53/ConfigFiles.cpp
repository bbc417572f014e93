//===- ConfigFiles.cpp - The configuration files of a checkpoint ----------===//

#include "models/glm53/Config.h"
#include "models/glm53/ConfigQuantization.h"
#include "models/glm53/FieldReader.h"
#include "models/glm53/JsonText.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace glm::glm53 {

Error Config::mergeGeneration(StringRef text, StringRef name) {
  Expected<json::Object> file = parseJsonText(text, name);
  if (!file)
    return file.takeError();
  std::vector<std::string> faults;
  FieldReader fields(faults, *file);
  fields.ids("eos_token_id", vocabSize, generation.stopIds);
  generation.temperature =
      fields.number("temperature", 0, 100, generation.temperature);
  generation.topP = fields.number("top_p", 0, 1, generation.topP);
  if (generation.topP == 0)
    fields.refuse("top_p", "is 0; 1 keeps every token, --greedy the likeliest");
  return joinFaults(name, faults);
}

/// The text of a regular file; nullptr when there is none.
static Expected<std::unique_ptr<MemoryBuffer>> readFile(const Twine &path) {
  if (!sys::fs::exists(path))
    return nullptr;
  uint64_t size = 0;
  if (!sys::fs::is_regular_file(path) || sys::fs::file_size(path, size))
    return createStringError(path + ": not a regular file");
  if (size > maxJsonBytes)
    return createStringError(path + ": " + Twine(size) +
                             " bytes are more than the " + Twine(maxJsonBytes) +
                             " that are allowed");
  auto buffer = MemoryBuffer::getFile(path);
  if (std::error_code error = buffer.getError())
    return createStringError(path + ": " + error.message());
  return std::move(*buffer);
}

Expected<Config> Config::parseFile(StringRef path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  if (!*text)
    return createStringError(path + ": no such file");
  return parse((*text)->getBuffer(), path);
}

Expected<Config> Config::load(StringRef dir) {
  std::string path = (dir + "/config.json").str();
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  if (!*text)
    return createStringError(path + ": no such file; name the folder of a "
                                    "checkpoint");
  Expected<Config> config = parse((*text)->getBuffer(), path);
  if (!config)
    return config;

  path = (dir + "/quantization_config.json").str();
  if (config->quantization.method == Quantization::Method::None) {
    auto quantText = readFile(path);
    if (!quantText)
      return quantText.takeError();
    if (*quantText) {
      auto block = parseJsonText((*quantText)->getBuffer(), path);
      if (!block)
        return block.takeError();
      std::vector<std::string> faults;
      config->quantization = readQuantization(*block, faults);
      if (Error error = joinFaults(path, faults))
        return error;
    }
  }

  path = (dir + "/generation_config.json").str();
  auto generationText = readFile(path);
  if (!generationText)
    return generationText.takeError();
  if (*generationText)
    if (Error error =
            config->mergeGeneration((*generationText)->getBuffer(), path))
      return error;
  return config;
}

} // namespace glm::glm53
