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
  info.launches = entry.launches()->size();
  for (const plan::Launch* launch : *entry.launches()) {
    info.weight_bytes += launch->weight_bytes();
    info.memory_bytes += launch->memory_bytes();
    info.flops += launch->flops();
  }
  return info;
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
