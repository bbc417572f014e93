// glm-opt: runs passes on .mlir files, for tests and for replaying a phase.

#include "passes/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  glm::model::GlmDialect, glm::kern::KernDialect,
                  glm::planir::PlanDialect>();
  mlir::registerCanonicalizer();
  mlir::registerCSEPass();
  glm::passes::registerGlmPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "GLM optimiser driver\n", registry));
}
