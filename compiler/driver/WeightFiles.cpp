//===- WeightFiles.cpp - The files that a plan's weights lie in -----------===//

#include "compiler/driver/WeightFiles.h"

#include "compiler/UsageError.h"
#include "compiler/plan/WeightPacker.h"
#include "dialects/Glm/Glm.h"
#include "runtime/safetensors/weight_fingerprint.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "mlir/IR/Builders.h"

#include <filesystem>

using namespace mlir;
using namespace glm;
using namespace glm::driver;
using llvm::Error;

static Error fail(const Twine &text) { return llvm::createStringError(text); }

PackedWeights::~PackedWeights() {
  if (!temp.empty())
    llvm::sys::fs::remove(temp);
}

Error PackedWeights::nameBeside(StringRef plan) {
  SmallString<256> packed(plan);
  llvm::sys::path::replace_extension(packed, "glmweights");
  if (packed == plan)
    return usageError("-o " + plan + ": is the name of the packed weights; give the "
                                     "plan another one (.glmplan)");
  target = packed.str().str();
  temp = target + ".new";
  llvm::sys::RemoveFileOnSignal(temp);
  return Error::success();
}

Error PackedWeights::publish() {
  if (temp.empty())
    return Error::success();
  if (std::error_code ec = llvm::sys::fs::rename(temp, target))
    return fail(target + ": " + ec.message());
  llvm::sys::DontRemoveFileOnSignal(temp);
  temp.clear();
  return Error::success();
}

/// Leaves out the files that no piece lies in any more.
static void keepUsedFiles(ModuleOp module, std::vector<std::string> &paths,
                          std::vector<std::string> &names) {
  std::vector<int64_t> number(paths.size(), -1);
  std::vector<std::string> usedPaths, usedNames;
  for (auto weight : module.getOps<model::WeightOp>()) {
    if (!weight.getPieces())
      continue;
    SmallVector<int64_t> pieces(*weight.getPieces());
    for (size_t i = 0; i < pieces.size(); i += 3) {
      int64_t &fresh = number[pieces[i]];
      if (fresh < 0) {
        fresh = static_cast<int64_t>(usedPaths.size());
        usedPaths.push_back(paths[pieces[i]]);
        usedNames.push_back(names[pieces[i]]);
      }
      pieces[i] = fresh;
    }
    weight.setPieces(ArrayRef(pieces));
  }
  paths = std::move(usedPaths);
  names = std::move(usedNames);
}

/// Plan and weights may move together, so paths are kept relative. Names stay as
/// they were given: the target of a link may have a name that says nothing.
static std::string relativeTo(const std::string &plan, StringRef path) {
  std::error_code ec;
  auto full = std::filesystem::absolute(path.str(), ec).lexically_normal();
  auto base = std::filesystem::absolute(plan, ec)
                  .lexically_normal()
                  .parent_path();
  auto relative = full.lexically_relative(base);
  return relative.empty() ? full.string() : relative.string();
}

Error driver::recordWeightFiles(ModuleOp module, const glm53::Weights &weights,
                                const DriverOptions &options, PackedWeights &packed) {
  auto report = [&](StringRef stage, uint64_t done, uint64_t total) {
    if (options.progress)
      options.progress(stage, done, total);
  };
  std::vector<std::string> paths;
  for (const glm53::Weights::File &file : weights.files())
    paths.push_back(file.path);
  std::vector<std::string> names = paths; // as the plan records them
  if (!paths.empty() && (options.pack || planfile::hasSources(module))) {
    if (Error e = packed.nameBeside(options.output))
      return e;
    planfile::PackProgress progress{[&](uint64_t done, uint64_t total) {
      report(options.pack ? "pack" : "quantise", done, total);
    }};
    using planfile::PackWhat;
    if (Error e = planfile::packWeights(
            module, paths, packed.written(),
            options.pack ? PackWhat::All : PackWhat::Quantised, progress))
      return e;
    paths.push_back(packed.written());
    names.push_back(packed.finalName());
    keepUsedFiles(module, paths, names);
  }
  Builder b(module.getContext());
  SmallVector<Attribute> files;
  for (auto [i, path] : llvm::enumerate(paths)) {
    report("fingerprint", i, paths.size());
    auto print = FingerprintFile(path);
    if (!print.ok())
      return fail(std::string(print.status().message()));
    uint64_t size = 0;
    if (std::error_code ec = llvm::sys::fs::file_size(path, size))
      return fail(path + ": " + ec.message());
    files.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("path", b.getStringAttr(relativeTo(options.output, names[i]))),
         b.getNamedAttr("size", b.getI64IntegerAttr(size)),
         b.getNamedAttr("fingerprint",
                        b.getI64IntegerAttr(static_cast<int64_t>(*print)))}));
  }
  module->setAttr("glm.weight_files", b.getArrayAttr(files));
  return Error::success();
}
