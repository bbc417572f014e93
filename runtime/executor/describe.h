// The plan's tables as the structs of step_runner.h.
#ifndef GLM_RUNTIME_EXECUTOR_DESCRIBE_H_
#define GLM_RUNTIME_EXECUTOR_DESCRIBE_H_

#include "runtime/executor/step_runner.h"

namespace glm {

namespace plan {
struct Entry;
struct Group;
struct Model;
}  // namespace plan

// One launch of the device: `count` of Entry.launches from `first` on, in
// `group` when that is not null.
struct OperationRange {
  uint32_t first = 0;
  uint32_t count = 1;
  const plan::Group* group = nullptr;
};

// Both take tables of a validated plan (PlanFile).
EntryInfo DescribeEntry(const plan::Entry& entry);
std::vector<OperationRange> OperationRanges(const plan::Entry& entry);
ModelInfo DescribeModel(const plan::Model& model);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_DESCRIBE_H_
