#include "test/differential/compile.h"

#include "compiler/codegen/KernelCompiler.h"
#include "compiler/pipeline/Pipelines.h"
#include "compiler/plan/PlanWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "passes/Passes.h"

namespace glm::differential {

bool CompilePlan(const std::string& module_text, const Variant& variant,
                 const std::string& path, std::string* error) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context
      .loadDialect<model::GlmDialect, kern::KernDialect, planir::PlanDialect>();
  mlir::ScopedDiagnosticHandler diagnostics(&context, [&](mlir::Diagnostic& d) {
    *error += d.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(module_text, &context);
  if (!module) return false;
  pipeline::PipelineOptions options;
  options.fuse = variant.fuse;
  options.disabled = variant.disabled;
  mlir::PassManager passes(&context);
  if (mlir::failed(pipeline::buildPipeline(passes, options)) ||
      mlir::failed(passes.run(*module))) {
    return false;
  }
  const auto sources = codegen::emitKernels(*module, /*parts=*/2);
  if (mlir::failed(sources)) return false;
  const auto target = llvm::cantFail(codegen::CodeTarget::parse("host"));
  codegen::CompileOptions clang;
  clang.useCache = false;
  clang.flags = {"-O0", "-ffp-contract=off"};
  auto code = codegen::compileKernels(*sources, target, clang);
  if (!code) {
    *error += llvm::toString(code.takeError());
    return false;
  }
  mlir::PassManager last(&context);
  last.addPass(passes::createLowerKernToPlanPass());
  if (mlir::failed(last.run(*module))) return false;
  planfile::Attachments attachments;
  attachments.code.push_back({target.name, target.isa, std::move(*code)});
  auto plan = *module->getOps<planir::PlanOp>().begin();
  if (llvm::Error e = planfile::writePlan(plan, attachments, path)) {
    *error += llvm::toString(std::move(e));
    return false;
  }
  return true;
}

}  // namespace glm::differential
