// The plan's tables as the structs of step_runner.h.
#ifndef GLM_RUNTIME_EXECUTOR_DESCRIBE_H_
#define GLM_RUNTIME_EXECUTOR_DESCRIBE_H_

#include "runtime/executor/step_runner.h"

namespace glm {

namespace plan {
struct Entry;
struct Model;
}  // namespace plan

// Both take tables of a validated plan (PlanFile).
EntryInfo DescribeEntry(const plan::Entry& entry);
ModelInfo DescribeModel(const plan::Model& model);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_DESCRIBE_H_
