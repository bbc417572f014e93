//===- CheckedOptions.cpp - What options may ask for ----------------------===//

#include "compiler/driver/CheckedOptions.h"

#include "compiler/UsageError.h"
#include "runtime/plan/plan_format.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace glm;
using namespace glm::driver;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::StringRef;
using llvm::Twine;

static Error fail(const Twine &text) { return llvm::createStringError(text); }

Expected<std::vector<codegen::CodeTarget>>
driver::checkTargets(const DriverOptions &options) {
  std::vector<codegen::CodeTarget> targets;
  for (const std::string &text : options.targets) {
    auto target = codegen::CodeTarget::parse(text);
    if (!target)
      return target.takeError();
    for (const codegen::CodeTarget &other : targets)
      if (other.name == target->name && other.isa == target->isa)
        return usageError("--target: " + text + " is asked for twice");
    targets.push_back(std::move(*target));
  }
  return targets;
}

/// True for the configuration and for every file of the checkpoint's folder.
static bool isInput(const DriverOptions &options, StringRef path) {
  bool same = false;
  if (!options.config.empty())
    return !llvm::sys::fs::equivalent(options.config, path, same) && same;
  std::error_code ec;
  for (llvm::sys::fs::directory_iterator it(options.checkpoint, ec), end;
       it != end && !ec; it.increment(ec)) {
    StringRef name = llvm::sys::path::filename(it->path());
    bool ours = name.ends_with(".glmplan") || name.ends_with(".glmweights");
    if (!ours && !llvm::sys::fs::equivalent(it->path(), path, same) && same)
      return true;
  }
  return false;
}

Error driver::checkOutput(const DriverOptions &options) {
  if (options.last != pipeline::Phase::Emit)
    return Error::success();
  SmallString<256> folder(options.output);
  llvm::sys::path::remove_filename(folder);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder))
    return fail(options.output + ": the folder " + folder +
                " does not exist; create it or choose another -o");
  if (llvm::sys::fs::is_directory(options.output))
    return fail(options.output + ": is a folder; -o names the plan file");
  if (llvm::sys::fs::exists(options.output)) {
    if (!llvm::sys::fs::is_regular_file(options.output))
      return fail(options.output + ": is not a regular file; -o names the plan file");
    if (isInput(options, options.output))
      return fail(options.output + ": is an input of this compilation; choose "
                                   "another -o");
  }
  if (llvm::sys::fs::access(folder.empty() ? Twine(".") : Twine(folder),
                            llvm::sys::fs::AccessMode::Write))
    return fail(options.output + ": the folder is not writable");
  return Error::success();
}

Expected<glm53::BuildOptions> driver::checkSizes(const DriverOptions &options,
                                                 const glm53::Config &config) {
  glm53::BuildOptions build;
  build.math = options.math;
  build.prefillChunk = options.prefillChunk;
  build.ranks = options.ranks;
  const int64_t limit = config.maxPositionEmbeddings, pool = config.indexKpool;
  int64_t context = options.maxContext;
  if (context == 0)
    context = std::min(limit, kDefaultContext);
  if (limit < pool)
    return fail("config.json: max_position_embeddings = " + Twine(limit) +
                ": expected at least index_kpool = " + Twine(pool));
  if (context < pool || context > limit)
    return usageError("--max-context " + Twine(context) + ": the model takes " +
                      Twine(pool) + " to " + Twine(limit) + " tokens");
  build.maxContext = context;
  if (options.ranks < 1 || options.ranks > 64)
    return usageError("--tp " + Twine(options.ranks) + ": expected 1 to 64 ranks");
  build.pagedExperts = options.pagedExperts;
  build.decodeBatches.clear();
  if (options.prefillChunk < 1 || options.prefillChunk > 65536)
    return usageError("--prefill-chunk " + Twine(options.prefillChunk) +
                      ": expected 1 to 65536 tokens");
  for (int64_t tokens : options.verify) {
    if (tokens < 2 || tokens > 64)
      return usageError("--verify " + Twine(tokens) + ": expected 2 to 64 tokens");
    if (!llvm::is_contained(build.verifyTokens, tokens))
      build.verifyTokens.push_back(tokens);
  }
  for (int64_t batch : options.batches) {
    if (batch < 1 || batch > 256)
      return usageError("--batch " + Twine(batch) + ": expected 1 to 256 sequences");
    if (!llvm::is_contained(build.decodeBatches, batch))
      build.decodeBatches.push_back(batch);
  }
  if (build.decodeBatches.empty())
    return usageError("--batch names no batch size");
  // Every plan can decode one sequence.
  if (!llvm::is_contained(build.decodeBatches, 1))
    build.decodeBatches.insert(build.decodeBatches.begin(), 1);
  return build;
}

Error driver::checkPagedExperts(const DriverOptions &options, const glm53::Config &config,
                                const glm53::Weights &weights) {
  if (!options.pagedExperts)
    return Error::success();
  constexpr int64_t kMost = plan::kMaxPagedExperts;
  if (config.nRoutedExperts > kMost)
    return fail("config.json: n_routed_experts = " + Twine(config.nRoutedExperts) +
                ": --experts paged takes at most " + Twine(kMost) +
                "; use --experts resident");
  // Slots are for the rows of all layers.
  llvm::StringMap<const glm53::WeightInfo *> first;
  const glm53::WeightInfo *gate = nullptr;
  for (const glm53::WeightInfo &weight : weights.all()) {
    if (!weight.isExperts())
      continue;
    gate = gate ? gate : &weight;
    StringRef name = StringRef(weight.name).rsplit('.').second;
    const glm53::WeightInfo &like = *first.try_emplace(name, &weight).first->second;
    if (weight.form != like.form || weight.dtype != like.dtype ||
        weight.shape != like.shape || weight.group != like.group ||
        weight.isCoded() != gate->isCoded())
      return fail(weight.name + ": is stored in another form than " +
                  (weight.isCoded() != gate->isCoded() ? *gate : like).name +
                  ", --experts paged needs one for all; use --experts resident");
  }
  return Error::success();
}
