#include "runtime/executor/expert_budget.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/paging/pager_image.h"
#include "runtime/paging/pager_layout.h"

namespace glm {
namespace {

constexpr uint64_t kLeastReserve = uint64_t{2} << 30;

// Of a device's memory, left by automatic sizing: drivers round allocations up,
// and take some for code and graphs after the free bytes were asked for.
constexpr uint64_t kDeviceSlack = uint64_t{384} << 20;

std::string Line(const char* name, const std::string& amount,
                 const std::string& note) {
  std::array<char, 200> line;
  std::snprintf(line.data(), line.size(), "  %-16s %12s  %s\n", name,
                amount.c_str(), note.c_str());
  return line.data();
}

// "12.1 GiB (the control group's, of 16.0 GiB)"
std::string AvailableText(const MemoryLimits& limits) {
  const std::string text = FormatBytes(limits.Available());
  if (limits.group >= limits.machine) return text;
  return absl::StrCat(text, " (all that the control group's limit of ",
                      FormatBytes(limits.group_limit), " leaves)");
}

absl::StatusOr<paging::ExpertCache> MakeCache(const ExpertRows& rows,
                                              const paging::Policy& policy,
                                              uint32_t slots) {
  return paging::ExpertCache::Create({.shape = rows.shape,
                                      .policy = policy,
                                      .slots = slots,
                                      .step_tokens = rows.step_tokens});
}

std::string PolicyNames() {
  std::string names;
  for (const paging::Policy& policy : paging::Policies()) {
    if (policy.pinned) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", policy.name);
  }
  return names;
}

uint32_t LeastSlots(const ExpertRows& rows, const paging::Policy& policy) {
  const uint64_t layer = std::min<uint64_t>(
      rows.shape.experts, uint64_t{rows.step_tokens} * rows.shape.top_k);
  return static_cast<uint32_t>(policy.per_layer ? layer * rows.shape.layers
                                                : layer);
}

absl::StatusOr<const paging::Policy*> ChoosePolicy(const ExpertRows& rows,
                                                   const std::string& name,
                                                   uint32_t slots) {
  const paging::Policy* shares = paging::FindPolicy("quota-lfru");
  if (name.empty()) {
    return slots >= LeastSlots(rows, *shares) ? shares
                                              : paging::FindPolicy("lfru");
  }
  const paging::Policy* policy = paging::FindPolicy(name);
  if (policy == nullptr || policy->pinned) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--expert-policy ", name,
        policy == nullptr ? ": there is no such policy"
                          : ": pins rows, which only glm-cachesim does",
        "; choose one of ", PolicyNames()));
  }
  return policy;
}

// Slots that the device has room for, or that were asked for.
uint32_t ChooseSlots(const ExpertRows& rows, const ExpertOptions& options,
                     const ExpertSurroundings& around) {
  const uint64_t all = rows.shape.rows();
  if (options.slots > 0) return std::min<uint64_t>(options.slots, all);
  uint64_t bytes = options.slot_bytes;
  if (bytes == 0) {
    const uint64_t pager =
        paging::PagerPlaces::Of(rows.shape, rows.layout.weights, all).bytes;
    const uint64_t others = pager + (around.unified ? 0 : kDeviceSlack);
    bytes = around.device_free - std::min(around.device_free, others);
    // Rows want the other half. What is free is this executor's own.
    if (around.unified) bytes /= 2;
  }
  return static_cast<uint32_t>(std::min(all, bytes / rows.layout.row_bytes));
}

absl::Status Refusal(const ExpertSurroundings& around,
                     const std::string& reason) {
  return absl::ResourceExhaustedError(
      absl::StrCat(around.plan_path, ": ", reason));
}

// Shares the host's memory out between pinned rows and the staging ring.
absl::Status PlanHost(const ExpertOptions& options,
                      const ExpertSurroundings& around, ExpertBudget& budget) {
  uint64_t available = around.host.Available() / std::max(options.sharers, 1u);
  if (around.unified) {
    available -= std::min(available, budget.DeviceBytes());
  }
  const uint64_t reserve = std::min(available, HostReserve(available));
  // Other programs have a part of what AMD's drivers may take.
  const uint64_t driver =
      around.unified ? kNoLimit
                     : around.host.amd / 8 * 7 / std::max(options.sharers, 1u);
  budget.host_budget = options.host_bytes > 0
                           ? options.host_bytes
                           : std::min(available - reserve, driver);
  const uint64_t all = uint64_t{around.distinct_rows} * budget.row_bytes;
  if (all <= budget.host_budget) {
    budget.pinned_rows = around.distinct_rows;
  } else {
    budget.ring = kStagingRows;
    if (budget.StagingBytes() > budget.host_budget) {
      return Refusal(
          around,
          absl::StrCat("experts wait in ", around.distinct_rows, " rows of ",
                       FormatBytes(budget.row_bytes), ", of which the host's ",
                       FormatBytes(budget.host_budget),
                       " hold none: a staging ring of ", budget.ring,
                       " rows alone takes ", FormatBytes(budget.StagingBytes()),
                       "; ", AvailableText(around.host), " are available, ",
                       options.host_bytes > 0
                           ? "raise --host-memory"
                           : absl::StrCat("of which ", FormatBytes(reserve),
                                          " stay free; end other programs, or "
                                          "name an amount with "
                                          "--host-memory")));
    }
    budget.pinned_rows = static_cast<uint32_t>(
        (budget.host_budget - budget.StagingBytes()) / budget.row_bytes);
    budget.file_rows = around.distinct_rows - budget.pinned_rows;
  }
  if (budget.HostBytes() > available) {
    return Refusal(
        around,
        absl::StrCat(
            FormatBytes(budget.HostBytes()),
            " of the host's memory for rows of experts, ",
            AvailableText(around.host), " are available",
            around.unified
                ? absl::StrCat(", the arena takes ",
                               FormatBytes(budget.DeviceBytes()), " of that")
                : "",
            "; lower --host-memory"));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t HostReserve(uint64_t available) {
  return std::max(kLeastReserve, available / 10);
}

uint64_t ExpertBudget::StagingBytes() const {
  return ring == 0 ? 0 : ring * row_bytes + paging::BellBytes(ring);
}

std::string ExpertBudget::ToString() const {
  const auto share = [&](uint64_t count) {
    return absl::StrCat(count * 100 / std::max(rows, 1u), " %");
  };
  std::string text =
      Line("expert slots", FormatBytes(SlotBytes()),
           absl::StrCat(slots, " of ", rows, " rows of ",
                        FormatBytes(row_bytes), " (", share(slots),
                        "), policy ", policy, ", ", least_slots, " at least"));
  text += Line("pager", FormatBytes(pager_bytes), "tables of the slots");
  if (mapped_rows > 0) {
    text += Line("expert rows", absl::StrCat(mapped_rows),
                 "used in place, from their files");
  }
  if (pinned_rows > 0) {
    text += Line("pinned rows", FormatBytes(PinnedBytes()),
                 absl::StrCat(pinned_rows, " rows in the host's memory",
                              shared_rows > 0 ? absl::StrCat(", ", shared_rows,
                                                             " more share them")
                                              : ""));
  }
  if (file_rows > 0) {
    text += Line("rows from files", absl::StrCat(file_rows),
                 "read when they are asked for");
    text += Line("row staging", FormatBytes(StagingBytes()),
                 absl::StrCat("a ring of ", ring, " rows"));
  }
  std::string rest =
      absl::StrCat("available, ", FormatBytes(host_budget), " for rows");
  if (limits.lock != kNoLimit) {
    absl::StrAppend(&rest, ", memlock limit ", FormatBytes(limits.lock));
  }
  if (limits.amd != kNoLimit) {
    absl::StrAppend(&rest, ", AMD's drivers may take ", FormatBytes(limits.amd),
                    " (ttm.pages_limit)");
  }
  text += Line("host memory", AvailableText(limits), rest);
  if (!note.empty()) text += absl::StrCat("  ", note, "\n");
  return text;
}

absl::StatusOr<ExpertBudget> PlanExperts(const ExpertRows& rows,
                                         const ExpertOptions& options,
                                         const ExpertSurroundings& around) {
  ExpertBudget budget;
  budget.rows = rows.shape.rows();
  budget.row_bytes = rows.layout.row_bytes;
  budget.unified = around.unified;
  budget.limits = around.host;
  budget.slots = ChooseSlots(rows, options, around);
  GLM_ASSIGN_OR_RETURN(const paging::Policy* policy,
                       ChoosePolicy(rows, options.policy, budget.slots));
  budget.policy = policy->name;
  budget.least_slots = LeastSlots(rows, *policy);
  const auto cache = MakeCache(rows, *policy, budget.slots);
  if (!cache.ok()) {
    const bool named = options.slots > 0 || options.slot_bytes > 0;
    return absl::Status(
        cache.status().code(),
        absl::StrCat(around.plan_path, ": ", cache.status().message(), "; ",
                     budget.least_slots, " slots take ",
                     FormatBytes(budget.least_slots * budget.row_bytes), ", ",
                     FormatBytes(around.device_free),
                     " are free on the device beside all else: ",
                     named ? "raise --expert-slots"
                           : "compile with a smaller --max-context",
                     ", or compile with a smaller --prefill-chunk"));
  }
  budget.pager_bytes =
      paging::PagerPlaces::Of(rows.shape, rows.layout.weights, budget.slots)
          .bytes;
  budget.mapped_rows = around.mapped_rows;
  budget.shared_rows = budget.rows - around.mapped_rows - around.distinct_rows;
  GLM_RETURN_IF_ERROR(PlanHost(options, around, budget));
  return budget;
}

absl::StatusOr<paging::ExpertCache> CacheOf(const ExpertRows& rows,
                                            const ExpertBudget& budget) {
  return MakeCache(rows, *paging::FindPolicy(budget.policy), budget.slots);
}

}  // namespace glm
