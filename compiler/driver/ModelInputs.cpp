//===- ModelInputs.cpp - What a compilation reads -------------------------===//

#include "compiler/driver/ModelInputs.h"

#include "runtime/safetensors/checkpoint.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace glm;
using namespace glm::driver;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::Twine;

static Error fail(const Twine &text) { return llvm::createStringError(text); }

static glm53::WeightOptions weightOptions(const DriverOptions &options) {
  glm53::WeightOptions wanted;
  wanted.dense = options.dense;
  wanted.denseHead = options.denseHead;
  return wanted;
}

static Error readTokenizer(const DriverOptions &options, ModelInputs &inputs) {
  SmallString<256> path(options.checkpoint);
  llvm::sys::path::append(path, "tokenizer.json");
  if (!llvm::sys::fs::exists(path)) {
    if (options.warn)
      options.warn((path + ": not found; the plan takes token ids only").str());
    return Error::success();
  }
  uint64_t size = 0;
  if (!llvm::sys::fs::is_regular_file(path) || llvm::sys::fs::file_size(path, size))
    return fail(path + ": not a regular file");
  if (size > kMaxTokenizerBytes)
    return fail(path + ": " + Twine(size) + " bytes are more than the " +
                Twine(kMaxTokenizerBytes) + " that are allowed");
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return fail(path + ": " + text.getError().message());
  inputs.tokenizer = (*text)->getBuffer().str();
  if (!options.readTokenizer)
    return Error::success();
  auto ids = options.readTokenizer(inputs.tokenizer, path);
  if (!ids)
    return ids.takeError();
  std::vector<int32_t> &stopIds = inputs.config.generation.stopIds;
  for (int32_t id : *ids)
    if (!llvm::is_contained(stopIds, id))
      stopIds.push_back(id);
  return Error::success();
}

Expected<ModelInputs> driver::readInputs(const DriverOptions &options) {
  if (options.checkpoint.empty()) {
    auto parsed = glm53::Config::parseFile(options.config);
    if (!parsed)
      return parsed.takeError();
    auto weights = glm53::Weights::declare(*parsed, weightOptions(options));
    return ModelInputs{std::move(*parsed), std::move(weights), ""};
  }
  auto loaded = glm53::Config::load(options.checkpoint);
  if (!loaded)
    return loaded.takeError();
  auto checkpoint = Checkpoint::Open(options.checkpoint);
  if (!checkpoint.ok())
    return fail(std::string(checkpoint.status().message()));
  auto resolved = glm53::Weights::resolve(*loaded, *checkpoint, weightOptions(options));
  if (!resolved)
    return resolved.takeError();
  ModelInputs inputs{std::move(*loaded), std::move(*resolved), ""};
  if (options.warn)
    for (const std::string &text : inputs.weights.warnings())
      options.warn(text);
  if (Error e = readTokenizer(options, inputs))
    return std::move(e);
  return inputs;
}
