//===- WeightFiles.h - The files that a plan's weights lie in ---*- C++ -*-===//

#ifndef GLM_COMPILER_DRIVER_WEIGHTFILES_H
#define GLM_COMPILER_DRIVER_WEIGHTFILES_H

#include "compiler/driver/Driver.h"
#include "compiler/plan/PackWriter.h"

#include "mlir/IR/BuiltinOps.h"

namespace glm::driver {

/// The .glmweights file beside a plan: it gets its own name only when the plan is
/// complete. Until then it is TARGET.partial, which is kept when the packing of it
/// can go on later.
class PackedWeights {
public:
  PackedWeights() = default;
  PackedWeights(const PackedWeights &) = delete;
  PackedWeights &operator=(const PackedWeights &) = delete;

  /// Names the file beside `plan`. Errors: UsageError, when it is the plan's own name.
  llvm::Error nameBeside(llvm::StringRef plan);
  /// Writes it, or what an earlier call left to do.
  llvm::Error write(const planfile::PackLayout &layout,
                    const planfile::PackOptions &options);
  /// Gives the file its name; nothing to do when there is none.
  llvm::Error publish();

  /// True when it is written and has not got its name yet.
  bool isUnpublished() const { return result.file != nullptr; }
  /// Where its bytes lie now.
  const std::string &written() const {
    return result.file ? result.file->path() : target;
  }
  const std::string &finalName() const { return target; }

private:
  std::string target;
  planfile::PackResult result;
};

/// Fingerprints the files that the weights of `module` lie in, `weights`' own and
/// `packed`, and lists them as the module's `glm.weight_files`; first packs and
/// quantises what is to lie beside the plan.
llvm::Error recordWeightFiles(mlir::ModuleOp module, const glm53::Weights &weights,
                              const DriverOptions &options, PackedWeights &packed);

} // namespace glm::driver

#endif // GLM_COMPILER_DRIVER_WEIGHTFILES_H
