//===- PlanDialect.td - The plan file as IR ----------------*- tablegen -*-===//

#ifndef GLM_DIALECTS_PLAN_PLANDIALECT
#define GLM_DIALECTS_PLAN_PLANDIALECT

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::glm::planir";
  let summary = "One operation for each table of runtime/plan/plan.fbs";
  let description = [{
    The last form before the file: every reference is an index, every address an
    offset. Writing the file is a walk without decisions. Fields have the names,
    units and meanings of the schema.
  }];
}

#endif // GLM_DIALECTS_PLAN_PLANDIALECT
