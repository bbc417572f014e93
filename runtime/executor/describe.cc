#include "runtime/executor/describe.h"

#include "runtime/plan/plan_generated.h"

namespace glm {

EntryInfo DescribeEntry(const plan::Entry& entry) {
  EntryInfo info;
  info.name = entry.name()->str();
  info.prefill = entry.kind() == plan::EntryKind::PREFILL;
  info.sequences = entry.sequences();
  info.tokens = entry.tokens();
  info.logit_rows = entry.logit_rows();
  info.operations = entry.launches()->size();
  info.launches = OperationRanges(entry).size();
  for (const plan::Launch* launch : *entry.launches()) {
    info.weight_bytes += launch->weight_bytes();
    info.memory_bytes += launch->memory_bytes();
    info.flops += launch->flops();
  }
  return info;
}

std::vector<OperationRange> OperationRanges(const plan::Entry& entry) {
  std::vector<OperationRange> ranges;
  uint32_t next = 0;
  const auto alone_until = [&](uint32_t end) {
    for (; next < end; ++next) ranges.push_back({next});
  };
  if (entry.groups() != nullptr) {
    for (const plan::Group* group : *entry.groups()) {
      alone_until(group->first());
      OperationRange range{next, 0, group};
      for (const plan::Chain* chain : *group->chains()) {
        range.count += chain->launches();
      }
      next += range.count;
      ranges.push_back(range);
    }
  }
  alone_until(entry.launches()->size());
  return ranges;
}

ModelInfo DescribeModel(const plan::Model& model) {
  ModelInfo info;
  if (model.name() != nullptr) info.name = model.name()->str();
  info.layers = model.layers();
  info.vocab = model.vocab();
  info.max_context = model.max_context();
  return info;
}

}  // namespace glm
