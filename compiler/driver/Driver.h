//===- Driver.h - From a checkpoint to a plan file --------------*- C++ -*-===//
//
// The whole of `glmc compile` behind one function: options → config and weights →
// glm module → phases → code objects → plan file.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_DRIVER_DRIVER_H
#define GLM_COMPILER_DRIVER_DRIVER_H

#include "compiler/codegen/KernelCompiler.h"
#include "compiler/pipeline/Pipelines.h"
#include "models/glm53/Build.h"

#include "llvm/Support/raw_ostream.h"

#include <atomic>

namespace glm::driver {

struct DriverOptions {
  std::string checkpoint; // directory; empty with `config`
  std::string config;     // config.json, for a plan without weights
  std::string output;     // plan file
  glm53::BuildOptions::Math math = glm53::BuildOptions::Math::Bf16;
  bool fuse = true;
  std::vector<std::string> targets = {"host"};
  std::vector<int64_t> batches = {1};
  std::vector<int64_t> verify; // tokens of each verify step
  int64_t prefillChunk = 256;
  int64_t maxContext = 0; // 0: the model's own, at most kDefaultContext
  bool pack = false;
  /// Form of the dense linears that are stored unquantised. What is quantised is
  /// written beside the plan, as with `pack`.
  glm53::DenseForm dense = glm53::DenseForm::AsStored;
  bool denseHead = false; // lm_head as well
  int64_t ranks = 1;      // devices that divide the model
  bool pagedExperts = false;
  pipeline::Phase last = pipeline::Phase::Emit;
  std::vector<std::string> disabledPasses;
  bool printAfterAll = false;
  bool timing = false;
  bool remarks = false;
  /// Checks the text of tokenizer.json and gives the ids of the markers that end a
  /// turn, which join the stop ids. Without it the text is taken as it is.
  std::function<llvm::Expected<std::vector<int32_t>>(llvm::StringRef text,
                                                     llvm::StringRef path)>
      readTokenizer;
  codegen::CompileOptions clang;
  std::string commandLine; // recorded in the plan

  /// Called as work goes on: what is being done, and how much of it.
  std::function<void(llvm::StringRef stage, uint64_t done, uint64_t total)> progress;
  /// Called once for each warning.
  std::function<void(llvm::StringRef text)> warn;
  /// Called once for each thing that went well and that the user should know.
  std::function<void(llvm::StringRef text)> note;
  /// Set by a signal: the compilation ends soon, with an InterruptedError.
  const std::atomic<bool> *cancel = nullptr;
};

/// Largest tokenizer.json that is read, in bytes; the release's has 20 MB.
inline constexpr uint64_t kMaxTokenizerBytes = 256 << 20;

/// Context of a plan when none is asked for and the model allows more.
inline constexpr int64_t kDefaultContext = 131072;

/// Runs the compiler. IR of a phase before `emit` is printed to `out`. The error
/// names file, tensor and remedy; then no output file is left or changed, except a
/// packing that can go on later (compiler/plan/PartialFile.h).
llvm::Error compile(const DriverOptions &options, llvm::raw_ostream &out);

/// Compiles up to the plan's tables: a flatbuffer of plan.fbs without code, for
/// readers that only count. Nothing is written and no kernel is compiled.
llvm::Expected<std::string> compileTables(const DriverOptions &options);

} // namespace glm::driver

#endif // GLM_COMPILER_DRIVER_DRIVER_H
