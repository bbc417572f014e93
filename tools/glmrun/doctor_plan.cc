// A plan on this machine: code for its devices, and memory.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/executor/row_store.h"
#include "runtime/plan/plan_generated.h"
#include "tools/device/device_choice.h"
#include "tools/glmrun/doctor_checks.h"
#include "tools/glmrun/plan_tokenizer.h"

namespace glm::tools {
namespace {

constexpr char kCode[] = "plan code";
constexpr char kFit[] = "plan fit";

// What one device of the plan holds, and where its experts wait.
absl::StatusOr<MemoryPlan> PlanRank(const PlanFile& file, const Device& device,
                                    uint32_t rank, uint32_t sharers,
                                    const MemoryLimits& limits) {
  const plan::Plan& plan = file.plan();
  const bool unified = device.SupportsMappedWeights();
  MemoryPlan memory = PlanMemory(
      plan,
      {.slots = 1, .map_weights = unified, .staging = !unified, .rank = rank});
  // The host's ranks share its memory, GPUs have each their own.
  const uint64_t has = device.AvailableBytes();
  const uint64_t limit = unified ? has / sharers : has;
  if (const auto rows = ExpertRowsOf(plan, rank)) {
    const RowKinds kinds = RowKinds::Of(plan, *rows, {}, unified);
    const uint64_t committed = memory.Committed();
    const ExpertSurroundings around = {
        .device_free = limit - std::min(limit, committed),
        .device_spare = has - limit,
        .unified = unified,
        .host = limits,
        .mapped_rows = kinds.in_place,
        .distinct_rows = static_cast<uint32_t>(kinds.first.size()),
        .plan_path = file.path()};
    auto budget = PlanExperts(*rows, {.sharers = sharers}, around);
    if (!budget.ok()) return budget.status();
    memory.experts = *std::move(budget);
  }
  const absl::Status fits = CheckMemoryLimit(memory, limit, file.path());
  if (!fits.ok()) return fits;
  return memory;
}

std::string Describe(const MemoryPlan& memory, bool unified) {
  std::string text = absl::StrCat(FormatBytes(memory.Committed()),
                                  unified ? " of memory" : " on the card");
  if (!memory.experts) return text;
  const ExpertBudget& experts = *memory.experts;
  absl::StrAppend(&text, ", ", experts.slots, " of ", experts.rows,
                  " experts in slots (",
                  experts.slots * 100ull / std::max(experts.rows, 1u), " %)");
  if (experts.mapped_rows > 0) {
    absl::StrAppend(&text, ", ", experts.mapped_rows, " rows used in place");
  }
  if (experts.pinned_rows > 0) {
    absl::StrAppend(&text, ", ", experts.pinned_rows, " rows pinned, ",
                    FormatBytes(experts.PinnedBytes()));
  }
  if (experts.file_rows > 0) {
    absl::StrAppend(&text, ", ", experts.file_rows, " rows from files");
  }
  return text;
}

}  // namespace

PlanNeeds PlanNeeds::Of(const PlanFile& file) {
  const plan::Plan& plan = file.plan();
  PlanNeeds needs{.ranks = plan.ranks()};
  for (uint32_t r = 0; r < needs.ranks; ++r) {
    if (const auto rows = ExpertRowsOf(plan, r)) {
      needs.row_bytes += rows->shape.rows() * rows->layout.row_bytes;
    }
    needs.memory += PlanMemory(plan, {.slots = 1, .rank = r}).Committed();
  }
  if (plan.weight_files() != nullptr) {
    for (const plan::WeightFile* weights : *plan.weight_files()) {
      needs.file_bytes += weights->size();
    }
  }
  return needs;
}

void CheckTokenizer(const PlanFile& file, Report& report) {
  constexpr char kTokenizer[] = "plan tokenizer";
  const auto tokenizer = LoadTokenizer(file);
  if (!tokenizer.ok()) {
    report.Problem(kTokenizer, std::string(tokenizer.status().message()),
                   "compile the plan again");
  } else if (*tokenizer == nullptr) {
    report.Problem(kTokenizer,
                   "none: the plan runs on ids alone (generate --prompt-ids)",
                   "serve, chat and --prompt need one: compile it from a "
                   "checkpoint with a tokenizer.json");
  } else {
    report.Ok(kTokenizer,
              absl::StrCat("there, ", (*tokenizer)->vocab_size(), " ids"));
  }
}

std::vector<const Device*> CheckCode(const PlanFile& file,
                                     const std::vector<DriverSurvey>& drivers,
                                     const Device& host, Report& report) {
  const uint32_t ranks = file.plan().ranks();
  std::vector<const Device*> chosen;
  bool gpu = false;
  for (const DriverSurvey& driver : drivers) {
    std::vector<const Device*> able;
    for (const auto& device : driver.devices) {
      if (!device.ok()) continue;
      gpu = true;
      const absl::Status status = HasCode(file, **device);
      const std::string name = (*device)->Describe();
      if (status.ok()) {
        able.push_back(device->get());
        report.Ok(kCode, absl::StrCat("there is code for ", name));
      } else {
        report.Note(kCode, absl::StrCat(name, ": ", status.message()),
                    (*device)->Compiles()
                        ? "compile for it with glmc compile --target, or name "
                          "it with --device: it compiles the plan's source"
                        : "compile for it with glmc compile --target");
      }
    }
    if (able.size() >= ranks && chosen.empty()) {
      able.resize(ranks);
      chosen = able;
    }
  }
  if (!chosen.empty()) return chosen;
  const absl::Status on_host = HasCode(file, host);
  if (!on_host.ok()) {
    report.Problem(
        kCode,
        absl::StrCat("no device for ", ranks, ranks == 1 ? " rank" : " ranks",
                     " of ", file.path(), "; ", host.Describe(), ": ",
                     on_host.message()),
        "compile with --target for what is here, or --tp for fewer cards; "
        "what the drivers lack is above");
    return {};
  }
  const std::string text = absl::StrCat("there is code for ", host.Describe());
  if (gpu) {
    report.Problem(kCode,
                   absl::StrCat(text,
                                ", where it runs: the GPUs do "
                                "not serve its ",
                                ranks, ranks == 1 ? " rank" : " ranks"),
                   "compile with --target of the GPUs, --tp of their number");
  } else {
    report.Ok(kCode, text);
  }
  return std::vector<const Device*>(ranks, &host);
}

uint64_t CheckFit(const PlanFile& file,
                  const std::vector<const Device*>& devices,
                  const MemoryLimits& limits, Report& report) {
  uint64_t from_files = 0;
  const uint32_t ranks = static_cast<uint32_t>(devices.size());
  for (uint32_t r = 0; r < ranks; ++r) {
    const bool unified = devices[r]->SupportsMappedWeights();
    const std::string name = ranks == 1 ? "" : absl::StrCat("rank ", r, ": ");
    const auto memory = PlanRank(file, *devices[r], r, ranks, limits);
    if (!memory.ok()) {
      report.Problem(kFit, absl::StrCat(name, memory.status().message()),
                     "what is named there; limits of this machine are above");
      continue;
    }
    const std::string text =
        absl::StrCat(name, Describe(*memory, unified), "; ",
                     FormatBytes(devices[r]->AvailableBytes()),
                     " are free; of one sequence, each more takes ",
                     FormatBytes(memory->state_per_slot));
    const uint64_t rows = memory->experts ? memory->experts->file_rows : 0;
    from_files += rows;
    if (rows > 0) {
      report.Note(kFit, text,
                  "rows from files are as slow as the disk: more memory for "
                  "the host, or raise the limits above that are not ok");
    } else {
      report.Ok(kFit, text);
    }
  }
  return from_files;
}

}  // namespace glm::tools
