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

// That one layer of a step may ask for.
uint32_t MostRows(const ExpertRows& rows, uint32_t step_tokens) {
  return static_cast<uint32_t>(std::min<uint64_t>(
      rows.shape.experts, uint64_t{step_tokens} * rows.shape.top_k));
}

absl::StatusOr<const paging::Policy*> ChoosePolicy(const ExpertRows& rows,
                                                   const std::string& name,
                                                   uint32_t slots) {
  if (name.empty()) {
    const bool fits =
        slots / rows.shape.layers >= MostRows(rows, rows.decode_tokens);
    return paging::FindPolicy(fits ? "quota-lfru" : "lfru");
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

// Of the staging ring, doorbell included.
uint64_t RingBytes(uint64_t row_bytes) {
  return kStagingRows * row_bytes + paging::BellBytes(kStagingRows);
}

// Slots that the device has room for, or that were asked for. By itself at
// least `least` where those fit, whatever else wants the memory.
uint32_t ChooseSlots(const ExpertRows& rows, const ExpertOptions& options,
                     const ExpertSurroundings& around, uint64_t least) {
  const uint64_t all = rows.shape.rows(), row_bytes = rows.layout.row_bytes;
  if (options.slots > 0) return std::min<uint64_t>(options.slots, all);
  uint64_t bytes = options.slot_bytes;
  if (bytes == 0) {
    const auto less = [](uint64_t from, uint64_t what) {
      return from - std::min(from, what);
    };
    const uint64_t free = less(
        around.device_free,
        paging::PagerPlaces::Of(rows.shape, rows.layout.weights, all).bytes);
    uint64_t most = free;
    if (!around.unified) {
      bytes = less(free, less(kDeviceSlack, around.device_spare));
    } else {
      // Rows want the other half, and the ring where not all lie in place.
      bytes =
          less(free, options.host_bytes > 0 ? options.host_bytes : free / 2);
      if (around.distinct_rows > 0) most = less(free, RingBytes(row_bytes));
    }
    bytes = std::max(bytes, std::min(most, least * row_bytes));
  }
  return static_cast<uint32_t>(std::min(all, bytes / row_bytes));
}

absl::Status Refusal(const ExpertSurroundings& around,
                     const std::string& reason) {
  return absl::ResourceExhaustedError(
      absl::StrCat(around.plan_path, ": ", reason));
}

// What else takes of the host's memory, and what to change: `first`, unless it
// is empty.
std::string HostRemedy(const std::string& first,
                       const ExpertSurroundings& around,
                       const ExpertBudget& budget) {
  if (!around.unified) return absl::StrCat("; ", first);
  return absl::StrCat(", the arena takes ", FormatBytes(budget.DeviceBytes()),
                      " for ", budget.slots, " slots of the ",
                      FormatBytes(around.device_free),
                      " that the memory limit leaves; ", first,
                      first.empty() ? "" : ", ", "lower --expert-slots (",
                      budget.least_slots, " at least) or raise --memory-limit");
}

// Shares the host's memory out between pinned rows and the staging ring.
absl::Status PlanHost(const ExpertOptions& options,
                      const ExpertSurroundings& around, ExpertBudget& budget) {
  const uint32_t sharers = std::max(options.sharers, 1u);
  uint64_t available = around.host.Available();
  available = (available - std::min(available, options.host_taken)) / sharers;
  uint64_t limit = kNoLimit;
  if (around.unified) {
    available -= std::min(available, budget.DeviceBytes());
    limit = around.device_free;
    limit -= std::min(limit, budget.DeviceBytes());
  } else if (around.host.amd != kNoLimit) {
    // Other programs have a part of what AMD's drivers may take.
    limit = around.host.amd / 8 * 7 / sharers;
  }
  const uint64_t reserve = std::min(available, HostReserve(available));
  budget.host_budget = std::min(available - reserve, limit);
  // The ring is small beside the reserve, and nothing goes without it.
  budget.host_budget =
      std::max(budget.host_budget,
               std::min({available, limit, RingBytes(budget.row_bytes)}));
  if (options.host_bytes > 0) budget.host_budget = options.host_bytes;
  if (around.unified) available = std::min(available, limit);
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
                       " (--host-memory) hold none: a staging ring of ",
                       budget.ring, " rows alone takes ",
                       FormatBytes(budget.StagingBytes()), "; ",
                       AvailableText(around.host), " are available",
                       HostRemedy(options.host_bytes > 0 ? "raise --host-memory"
                                  : around.unified       ? ""
                                                         : "end other programs",
                                  around, budget)));
    }
    budget.pinned_rows = static_cast<uint32_t>(
        (budget.host_budget - budget.StagingBytes()) / budget.row_bytes);
    budget.file_rows = around.distinct_rows - budget.pinned_rows;
  }
  if (budget.HostBytes() > available) {
    return Refusal(
        around,
        absl::StrCat(FormatBytes(budget.HostBytes()),
                     " of the host's memory for rows of experts, ",
                     AvailableText(around.host), " are available",
                     HostRemedy("lower --host-memory", around, budget)));
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
  budget.least_slots = MostRows(rows, rows.step_tokens);
  budget.slots = ChooseSlots(rows, options, around, budget.least_slots);
  GLM_ASSIGN_OR_RETURN(const paging::Policy* policy,
                       ChoosePolicy(rows, options.policy, budget.slots));
  budget.policy = policy->name;
  const auto cache = MakeCache(rows, *policy, budget.slots);
  if (!cache.ok()) {
    const bool named = options.slots > 0 || options.slot_bytes > 0;
    return absl::Status(
        cache.status().code(),
        absl::StrCat(around.plan_path, ": ", cache.status().message(), "; ",
                     budget.least_slots, " slots take ",
                     FormatBytes(budget.least_slots * budget.row_bytes), ", ",
                     FormatBytes(around.device_free),
                     " are free on the device beside all else",
                     named ? ": raise --expert-slots"
                           : ", of which as many are taken as fit where "
                             "--expert-slots says none: raise --memory-limit",
                     !named && around.unified && options.host_bytes > 0
                         ? ", lower --host-memory"
                         : "",
                     named ? "" : ", compile with a smaller --max-context",
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
