// The options that shape a plan.

#include "tools/glmc/PlanFlags.h"

#include "compiler/UsageError.h"

#include <CLI/CLI.hpp>

using namespace glm;
using namespace glm::glmc;

llvm::Expected<std::vector<std::string>> glmc::splitList(llvm::StringRef flag,
                                                         llvm::StringRef text) {
  std::vector<std::string> parts;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    if (part.trim().empty())
      return usageError(flag + " " + text + ": a part of the list is empty");
    parts.push_back(part.trim().str());
  }
  return parts;
}

llvm::Error glmc::refuseEmptyValues(const CLI::App &cmd) {
  for (const CLI::Option *option : cmd.get_options()) {
    if (option->get_expected_max() == 0)
      continue; // a flag
    for (const std::string &value : option->results())
      if (llvm::StringRef(value).trim().empty())
        return usageError(option->get_name() + ": the value is empty");
  }
  return llvm::Error::success();
}

/// Reads a list of whole numbers.
static llvm::Error numbers(llvm::StringRef flag, llvm::StringRef list,
                           std::vector<int64_t> &to) {
  auto parts = splitList(flag, list);
  if (!parts)
    return parts.takeError();
  to.clear();
  for (const std::string &text : *parts) {
    int64_t n = 0;
    if (llvm::StringRef(text).getAsInteger(10, n))
      return usageError(flag + " " + list + ": not a list of numbers");
    to.push_back(n);
  }
  return llvm::Error::success();
}

void PlanFlags::add(CLI::App &cmd) {
  cmd.add_option("--math", math,
                 "Activations and caches: fp32 or bf16 (default); sums are fp32")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->group(kGroup);
  cmd.add_option("--fuse", fuse, "on (default), or off: one kernel an operation")
      ->check(CLI::IsMember({"on", "off"}))
      ->group(kGroup);
  cmd.add_option("--prefill-chunk", prefillChunk,
                 "Tokens of a prompt that one prefill step takes (default 256)")
      ->group(kGroup);
  cmd.add_option("--batch", batches,
                 "Comma-separated decode batch sizes; 1, which glmrun uses, is always "
                 "there")
      ->group(kGroup);
  cmd.add_option("--verify", verify,
                 "Comma-separated numbers of tokens: for each, a step of one sequence "
                 "that gives the logits of all its rows, to verify drafted tokens with")
      ->group(kGroup);
  cmd.add_option("--dense", dense,
                 "Weights of attention and indexer projections, shared experts and dense "
                 "layers: bf16 (default: as stored), int8 or int4; what is quantised is "
                 "written to a .glmweights file beside the plan")
      ->check(CLI::IsMember({"bf16", "int8", "int4"}))
      ->group(kGroup);
  cmd.add_flag("--dense-head", denseHead, "With --dense: quantise lm_head too")
      ->group(kGroup);
  cmd.add_option("--experts", experts,
                 "resident (default): all routed experts lie on the device; paged: those "
                 "in use do, and steps fetch the others from the host's memory or disk")
      ->check(CLI::IsMember({"resident", "paged"}))
      ->group(kGroup);
  cmd.add_option("--max-context", maxContext,
                 "Tokens a sequence may hold (default, also for 0: the model's own, at "
                 "most 131072)")
      ->group(kGroup);
  cmd.add_option("--tp", ranks,
                 "Devices that divide every matrix among them (default 1): heads, the "
                 "inner columns of feed-forward layers and the vocabulary must divide")
      ->group(kGroup);
}

llvm::Error PlanFlags::apply(driver::DriverOptions &o) const {
  using Math = glm53::BuildOptions::Math;
  o.math = math == "fp32" ? Math::Fp32 : Math::Bf16;
  o.fuse = fuse == "on";
  o.prefillChunk = prefillChunk;
  o.maxContext = maxContext;
  o.ranks = ranks;
  using glm53::DenseForm;
  o.dense = dense == "int8"   ? DenseForm::Int8
            : dense == "int4" ? DenseForm::Int4
                              : DenseForm::AsStored;
  o.denseHead = denseHead;
  o.pagedExperts = experts == "paged";
  if (denseHead && o.dense == DenseForm::AsStored)
    return usageError("--dense-head goes with --dense=int8 or --dense=int4");
  if (llvm::Error e = numbers("--batch", batches, o.batches))
    return e;
  return verify.empty() ? llvm::Error::success()
                        : numbers("--verify", verify, o.verify);
}
