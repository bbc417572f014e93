//===- WeightFiles.cpp - The files that a plan's weights lie in -----------===//

#include "compiler/driver/WeightFiles.h"

#include "compiler/InterruptedError.h"
#include "compiler/UsageError.h"
#include "compiler/plan/WeightPacker.h"
#include "dialects/Glm/Glm.h"
#include "runtime/safetensors/weight_fingerprint.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "mlir/IR/Builders.h"

#include <filesystem>

using namespace mlir;
using namespace glm;
using namespace glm::driver;
using llvm::Error;

static Error fail(const Twine &text) { return llvm::createStringError(text); }

Error PackedWeights::nameBeside(StringRef plan) {
  SmallString<256> packed(plan);
  llvm::sys::path::replace_extension(packed, "glmweights");
  if (packed == plan)
    return usageError("-o " + plan + ": is the name of the packed weights; give the "
                                     "plan another one (.glmplan)");
  target = packed.str().str();
  return Error::success();
}

Error PackedWeights::write(const planfile::PackLayout &layout,
                           const planfile::PackOptions &options) {
  auto written = planfile::writePacked(layout, target, options);
  if (!written)
    return written.takeError();
  result = std::move(*written);
  if (!options.note)
    return Error::success();
  if (result.reused)
    options.note(target + ": holds these weights already, as its end says; glm-check "
                          "weights reads it all, remove it to pack anew");
  else if (result.bytes > 0)
    options.note(llvm::formatv("{0}: packed {1:f2} GB in {2:f1} s, {3:f2} GB/s",
                               target, result.bytes / 1e9, result.seconds,
                               result.bytes / 1e9 / std::max(result.seconds, 1e-9))
                     .str());
  return Error::success();
}

Error PackedWeights::publish() {
  if (!result.file)
    return Error::success();
  if (Error e = result.file->publish())
    return e;
  result.file.reset();
  return Error::success();
}

/// Leaves out the files that no piece lies in any more.
static void keepUsedFiles(ModuleOp module, std::vector<planfile::PackInput> &files,
                          std::vector<std::string> &names) {
  std::vector<int64_t> number(files.size(), -1);
  std::vector<planfile::PackInput> usedFiles;
  std::vector<std::string> usedNames;
  for (auto weight : module.getOps<model::WeightOp>()) {
    if (!weight.getPieces())
      continue;
    SmallVector<int64_t> pieces(*weight.getPieces());
    for (size_t i = 0; i < pieces.size(); i += 3) {
      int64_t &fresh = number[pieces[i]];
      if (fresh < 0) {
        fresh = static_cast<int64_t>(usedFiles.size());
        usedFiles.push_back(files[pieces[i]]);
        usedNames.push_back(names[pieces[i]]);
      }
      pieces[i] = fresh;
    }
    weight.setPieces(ArrayRef(pieces));
  }
  files = std::move(usedFiles);
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

/// The files as they are now, with their fingerprints.
static llvm::Expected<std::vector<planfile::PackInput>>
examine(const std::vector<std::string> &paths, const DriverOptions &options) {
  std::vector<planfile::PackInput> inputs;
  for (const std::string &path : paths) {
    if (options.progress)
      options.progress("fingerprint", inputs.size(), paths.size());
    if (options.cancel && options.cancel->load())
      return interruptedError("interrupted while files were fingerprinted");
    planfile::PackInput input{path};
    llvm::sys::fs::file_status status;
    if (std::error_code ec = llvm::sys::fs::status(path, status))
      return fail(path + ": " + ec.message());
    input.size = status.getSize();
    input.modified = status.getLastModificationTime().time_since_epoch().count();
    auto print = FingerprintFile(path);
    if (!print.ok())
      return fail(std::string(print.status().message()));
    input.fingerprint = *print;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

/// Packs and quantises what is to lie beside the plan; it joins `files`.
static Error writeBeside(ModuleOp module, const DriverOptions &options,
                         std::vector<planfile::PackInput> &files,
                         PackedWeights &packed) {
  if (Error e = packed.nameBeside(options.output))
    return e;
  planfile::PackOptions pack;
  pack.progress = [&](uint64_t done, uint64_t total) {
    if (options.progress)
      options.progress(options.pack ? "pack" : "quantise", done, total);
  };
  pack.note = options.note;
  pack.cancel = options.cancel;
  const planfile::PackLayout layout = planfile::layOutPacked(
      module, files,
      options.pack ? planfile::PackWhat::All : planfile::PackWhat::Quantised);
  if (Error e = packed.write(layout, pack))
    return e;
  auto fresh = examine({packed.written()}, options);
  if (!fresh)
    return fresh.takeError();
  files.push_back(fresh->front());
  return Error::success();
}

Error driver::recordWeightFiles(ModuleOp module, const glm53::Weights &weights,
                                const DriverOptions &options, PackedWeights &packed) {
  std::vector<std::string> names; // as the plan records them
  for (const glm53::Weights::File &file : weights.files())
    names.push_back(file.path);
  auto files = examine(names, options);
  if (!files)
    return files.takeError();
  if (!names.empty() && (options.pack || planfile::hasSources(module))) {
    if (Error e = writeBeside(module, options, *files, packed))
      return e;
    names.push_back(packed.finalName());
    keepUsedFiles(module, *files, names);
  }
  Builder b(module.getContext());
  SmallVector<Attribute> attributes;
  for (auto [file, name] : llvm::zip(*files, names)) {
    const auto print = static_cast<int64_t>(file.fingerprint);
    attributes.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("path", b.getStringAttr(relativeTo(options.output, name))),
         b.getNamedAttr("size", b.getI64IntegerAttr(file.size)),
         b.getNamedAttr("fingerprint", b.getI64IntegerAttr(print))}));
  }
  module->setAttr("glm.weight_files", b.getArrayAttr(attributes));
  return Error::success();
}
