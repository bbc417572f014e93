#include "tools/glmrun/serve_checks.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/memory_limits.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/plan/plan_generated.h"

namespace glm::tools {
namespace {

// Sequences of the plan's decode steps.
std::set<uint32_t> BatchesOf(const plan::Plan& plan) {
  std::set<uint32_t> batches;
  for (const plan::Entry* entry : *plan.entries()) {
    if (entry->kind() == plan::EntryKind::DECODE) {
      batches.insert(entry->sequences());
    }
  }
  return batches;
}

absl::StatusOr<MemoryNeeds> NeedsOf(const Session& session,
                                    const ServeOptions& options) {
  const PlanFile& file = *session.plan;
  const plan::Plan& plan = file.plan();
  const size_t devices = session.devices.devices.size();
  MemoryNeeds needs{.plan_path = file.path(),
                    .unified = session.devices.first().SupportsMappedWeights(),
                    .limit = options.session.memory_limit,
                    .cache = options.cache_memory};
  needs.available = needs.unified ? session.devices.first().AvailableBytes()
                                  : ReadMemoryLimits().Available();
  for (uint32_t r = 0; r < devices; ++r) {
    const Device& device = *session.devices.devices[r];
    const MemoryPlan memory = PlanMemory(plan, {.slots = options.parallel,
                                                .map_weights = needs.unified,
                                                .staging = !needs.unified,
                                                .rank = r});
    const uint64_t has =
        needs.limit > 0 ? needs.limit : device.AvailableBytes();
    GLM_RETURN_IF_ERROR(CheckMemoryLimit(
        memory, needs.unified ? has / devices : has, file.path()));
    needs.plan +=
        needs.unified ? memory.Committed() : options.session.experts.host_bytes;
    needs.pages = needs.pages || ExpertRowsOf(plan, r).has_value();
    needs.state_per_slot += memory.state_per_slot;
  }
  return needs;
}

}  // namespace

std::string BatchNote(const PlanFile& plan, uint32_t parallel, bool given) {
  const std::set<uint32_t> batches = BatchesOf(plan.plan());
  const uint32_t most = batches.empty() ? 0 : *batches.rbegin();
  if (parallel <= most) return "";
  std::string sizes;
  for (uint32_t size = 1; size < parallel; size *= 2) {
    absl::StrAppend(&sizes, size, ",");
  }
  return absl::StrCat(given ? "warning: " : "note: ", "--parallel ", parallel,
                      ", and a step of this plan decodes ", most,
                      most == 1 ? " answer" : " answers",
                      " (compiled sizes: ", absl::StrJoin(batches, ", "),
                      "), so that more take turns; compile it with "
                      "glmc compile --batch ",
                      sizes, parallel, ", or give --parallel ", most);
}

absl::StatusOr<ServePlan> CheckServePlan(const Session& session,
                                         const ServeOptions& options) {
  const PlanFile& plan = *session.plan;
  GLM_RETURN_IF_ERROR(session.NeedTokenizer());
  if (BatchesOf(plan.plan()).empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        plan.path(), ": has no step of decoding; compile it again"));
  }
  for (const auto& device : session.devices.devices) {
    GLM_RETURN_IF_ERROR(Executor::CheckDevice(plan, *device));
  }
  GLM_ASSIGN_OR_RETURN(const MemoryNeeds needs, NeedsOf(session, options));
  ServePlan result;
  GLM_ASSIGN_OR_RETURN(result.memory, ShareMemory(needs));
  for (const std::string& note :
       {result.memory.note,
        BatchNote(plan, options.parallel, options.parallel_given)}) {
    if (!note.empty()) result.notes.push_back(note);
  }
  return result;
}

}  // namespace glm::tools
