#include "tools/glmrun/serve_memory.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/executor/memory_plan.h"

namespace glm::tools {
namespace {

// Of what paged experts could have, a cache that nobody asked for takes so
// little.
constexpr uint64_t kShareBesideExperts = 8;

// "--memory-limit 2.0 GiB, less 1.5 GiB for the plan"
std::string WhatThereIs(const MemoryNeeds& needs, bool limited) {
  const std::string total =
      limited ? absl::StrCat("--memory-limit ", FormatBytes(needs.limit))
              : absl::StrCat(FormatBytes(needs.available), " available");
  return needs.plan == 0
             ? total
             : absl::StrCat(total, ", less ", FormatBytes(needs.plan),
                            " for the plan");
}

}  // namespace

absl::StatusOr<MemoryShares> ShareMemory(const MemoryNeeds& needs) {
  const bool limited = needs.unified && needs.limit > 0;
  const uint64_t total = limited ? needs.limit : needs.available;
  MemoryShares shares{.cache = needs.cache.value_or(kDefaultCacheBytes),
                      .plan_limit = needs.limit};
  if (needs.plan > total) {
    shares.cache = 0;
    return shares;
  }
  const uint64_t room = total - needs.plan;
  if (needs.cache && *needs.cache > room) {
    return absl::ResourceExhaustedError(absl::StrCat(
        needs.plan_path, ": --cache-memory ", FormatBytes(*needs.cache),
        " does not fit: ", WhatThereIs(needs, limited), ", leaves ",
        FormatBytes(room), "; give --cache-memory less",
        needs.state_per_slot > 0 && needs.unified
            ? absl::StrCat(", lower --parallel (",
                           FormatBytes(needs.state_per_slot), " each)")
            : "",
        limited ? ", or raise --memory-limit" : ", or end other programs"));
  }
  const uint64_t most = needs.pages ? room / kShareBesideExperts : room;
  if (!needs.cache && shares.cache > most) {
    shares.cache = most;
    shares.note = absl::StrCat(
        "note: ", FormatBytes(most), " for states of prompts instead of ",
        FormatBytes(kDefaultCacheBytes), ": ", WhatThereIs(needs, limited),
        needs.pages ? ", of which experts have the rest" : "",
        "; --cache-memory takes another size");
  }
  if (needs.unified) shares.plan_limit = total - shares.cache;
  return shares;
}

}  // namespace glm::tools
