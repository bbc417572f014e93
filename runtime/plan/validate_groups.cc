// Groups: launches that run as one grid, and the kernel that runs them.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/collectives.h"
#include "runtime/plan/validation_context.h"

namespace glm::plan {
namespace {

uint32_t SlackOf(const Group& group, uint32_t chain) {
  return SizeOf(group.slack()) == 0 ? 0 : group.slack()->Get(chain);
}

// What makes two groups the same kernel; the compiler's text is
// passes::describeGrid.
void Describe(const Plan& plan, const Entry& entry, const Chain& chain,
              uint32_t slack, uint32_t first, std::string& text) {
  absl::StrAppend(&text, chain.phase());
  if (slack > 0) absl::StrAppend(&text, "+", slack);
  absl::StrAppend(&text, " ", chain.rows(), " ", chain.columns(), ":");
  for (uint32_t i = 0; i < chain.launches(); ++i) {
    const Launch& launch = *entry.launches()->Get(first + i);
    absl::StrAppend(&text, " ",
                    Text(plan.kernels()->Get(launch.kernel())->name()));
    for (const uint32_t extent : *launch.grid()) {
      absl::StrAppend(&text, " ", extent);
    }
    absl::StrAppend(&text, " ", launch.args()->Get(2)->value(), ",");
  }
  absl::StrAppend(&text, ";");
}

absl::Status ValidateChain(const Place& at, const Entry& entry,
                           const Chain& chain, uint32_t first,
                           uint64_t& blocks) {
  if (chain.rows() == 0 || chain.columns() == 0 ||
      (blocks += uint64_t{chain.rows()} * chain.columns()) > kMaxGridDim) {
    return at.Bad(chain.rows(), " x ", chain.columns(), " parts");
  }
  if (chain.launches() == 0 ||
      chain.launches() > SizeOf(entry.launches()) - first) {
    return at.Bad(chain.launches(), " launches from ", first,
                  " on, the step has ", SizeOf(entry.launches()));
  }
  for (uint32_t i = 0; i < chain.launches(); ++i) {
    const auto& grid = *entry.launches()->Get(first + i)->grid();
    const uint64_t all = uint64_t{grid[0]} * grid[1] * grid[2];
    if (all % (uint64_t{chain.rows()} * chain.columns()) != 0) {
      return at.Bad("launch ", first + i, " has ", all, " blocks, which ",
                    chain.rows(), " x ", chain.columns(),
                    " parts do not divide");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateGroup(const Place& at, const Plan& plan,
                           const Entry& entry, const Group& group,
                           uint32_t& next) {
  if (group.first() < next || group.first() >= SizeOf(entry.launches())) {
    return at.Bad("begins at launch ", group.first(), ", expected ", next,
                  " to ", SizeOf(entry.launches()) - 1);
  }
  if (SizeOf(group.chains()) == 0) return at.Bad("no chains");
  if (SizeOf(group.slack()) != 0 &&
      SizeOf(group.slack()) != SizeOf(group.chains())) {
    return at.Bad(SizeOf(group.slack()), " slacks of ", SizeOf(group.chains()),
                  " chains");
  }
  const uint32_t last =
      group.chains()->Get(SizeOf(group.chains()) - 1)->phase();
  next = group.first();
  uint64_t blocks = 0, words = 1;
  uint32_t phase = 0;
  std::string text;
  for (uint32_t c = 0; c < SizeOf(group.chains()); ++c) {
    const Chain& chain = *group.chains()->Get(c);
    const Place here = at.At("chains", c, "");
    if (chain.phase() < phase || chain.phase() > (c > 0 ? phase + 1 : 0) ||
        chain.phase() >= kMaxPhases) {
      return here.Bad("phase ", chain.phase(), " after phase ", phase);
    }
    phase = chain.phase();
    const uint32_t slack = SlackOf(group, c);
    if (phase <= last && slack > last - phase) {
      return here.Bad("phase ", phase, " with a slack of ", slack,
                      ", the last phase is ", last);
    }
    GLM_RETURN_IF_ERROR(ValidateChain(here, entry, chain, next, blocks));
    Describe(plan, entry, chain, slack, next, text);
    for (uint32_t i = 0; i < chain.launches(); ++i) {
      const Launch& launch = *entry.launches()->Get(next++);
      if (IsCollective(*plan.kernels()->Get(launch.kernel()))) {
        return here.Bad("launch ", next - 1, " is a collective, which no ",
                        "kernel does");
      }
      words += SizeOf(launch.args());
    }
  }
  if (words > kMaxGroupArgs) {
    return at.Bad(words, " arguments, at most ", kMaxGroupArgs);
  }
  if (group.kernel() >= SizeOf(plan.kernels())) {
    return at.Bad("kernel ", group.kernel(), " of ", SizeOf(plan.kernels()));
  }
  const Kernel& kernel = *plan.kernels()->Get(group.kernel());
  const std::string name =
      absl::StrFormat("group_%016x", XXH3_64bits(text.data(), text.size()));
  if (Text(kernel.op()) != "group" || Text(kernel.name()) != name) {
    return at.Bad("kernel ", Text(kernel.name()), " is not ", name,
                  ", the one of these launches");
  }
  return absl::OkStatus();
}

// The pager among states, whose numbers are less.
constexpr uint32_t kPagerState = ~0u;

// Whether `launch` waits by itself, at argument `arg`, for the counts of
// `counts`.
bool Awaits(const Plan& plan, const Launch& launch, uint32_t arg,
            const Launch& counts) {
  const auto kernel = [&](const Launch& of) -> const Kernel& {
    return *plan.kernels()->Get(of.kernel());
  };
  return arg == 7 && Text(kernel(counts).op()) == "copy_rows" &&
         Text(kernel(launch).name()).starts_with("PagedExpertLinear_");
}

// Chains whose phases, with their slack, meet may run at the same time: none
// touches what another writes, unless it begins later and waits by itself.
absl::Status ValidatePhases(const Place& at, const Plan& plan,
                            const Entry& entry, const Group& group,
                            const std::multimap<uint32_t, uint32_t>& writers) {
  struct Where {
    uint32_t begin;  // phases
    uint32_t end;    // the last that may run beside it
    uint32_t chain;
  };
  std::vector<Where> of_launch;
  for (uint32_t c = 0; c < SizeOf(group.chains()); ++c) {
    const Chain& chain = *group.chains()->Get(c);
    of_launch.insert(of_launch.end(), chain.launches(),
                     {chain.phase(), chain.phase() + SlackOf(group, c), c});
  }
  std::multimap<uint32_t, Where> states;  // users
  // Launches that read rows of experts, and those that may move them.
  std::vector<uint32_t> readers, movers;
  const auto reads_rows = [&](const Launch& launch) {
    return Text(plan.kernels()->Get(launch.kernel())->op()) ==
           "paged_expert_linear";
  };
  for (uint32_t i = 0; i < of_launch.size(); ++i) {
    const Where& here = of_launch[i];
    const auto beside = [&](const Where& other) {
      return other.begin <= here.end && here.begin <= other.end &&
             other.chain != here.chain;
    };
    const Launch& launch = *entry.launches()->Get(group.first() + i);
    const bool reads = reads_rows(launch);
    const bool moves =
        std::any_of(launch.args()->begin(), launch.args()->end(),
                    [](const Arg* a) { return a->kind() == ArgKind::PAGER; });
    if (reads || moves) {
      for (const uint32_t other : reads ? movers : readers) {
        const Launch& mover =
            *entry.launches()->Get(group.first() + (reads ? other : i));
        // The copies of its own rows it waits for by itself.
        const bool own = reads &&
                         mover.args()->Get(SizeOf(mover.args()) - 1)->index() ==
                             launch.args()->Get(7)->index() &&
                         Awaits(plan, launch, 7, mover);
        if (!own && beside(of_launch[other])) {
          return at.Bad("chains ", of_launch[other].chain, " and ", here.chain,
                        " of one phase read rows of experts and move them");
        }
      }
      (reads ? readers : movers).push_back(i);
    }
    for (uint32_t number = 0; number < SizeOf(launch.args()); ++number) {
      const Arg* arg = launch.args()->Get(number);
      const bool pager = arg->kind() == ArgKind::PAGER;
      const uint32_t index = pager ? kPagerState : arg->index();
      if (pager || arg->kind() == ArgKind::STATE) {
        const auto [begin, end] = states.equal_range(index);
        for (auto user = begin; user != end; ++user) {
          if (!beside(user->second)) continue;
          return at.Bad("chains ", user->second.chain, " and ", here.chain,
                        " of one phase use ",
                        pager ? "the pager" : absl::StrCat("state ", index));
        }
        states.emplace(index, here);
      } else if (arg->kind() == ArgKind::BUFFER) {
        const auto [begin, end] = writers.equal_range(index);
        for (auto writer = begin; writer != end; ++writer) {
          const uint32_t other = writer->second - group.first();
          if (writer->second < group.first() || other >= of_launch.size()) {
            continue;
          }
          if (of_launch[other].chain == here.chain &&
              Awaits(plan, launch, number,
                     *entry.launches()->Get(writer->second))) {
            return at.Bad("chain ", here.chain, " waits for the counts of ",
                          "blocks that may begin after its own");
          }
          if (!beside(of_launch[other])) continue;
          if (of_launch[other].begin < here.begin &&
              Awaits(plan, launch, number,
                     *entry.launches()->Get(writer->second))) {
            continue;
          }
          return at.Bad("chain ", here.chain, " touches buffer ",
                        Text(entry.buffers()->Get(index)->name()),
                        ", which chain ", of_launch[other].chain,
                        " of the same phase writes");
        }
      }
    }
  }
  return absl::OkStatus();
}

// The group that launch `launch` is in; `ends` are those of the groups, which
// begin at their first().
uint32_t GroupAt(const Entry& entry, const std::vector<uint32_t>& ends,
                 uint32_t launch) {
  const auto after = std::upper_bound(ends.begin(), ends.end(), launch);
  const uint32_t group = static_cast<uint32_t>(after - ends.begin());
  return group < ends.size() && entry.groups()->Get(group)->first() <= launch
             ? group
             : SizeOf(entry.groups());
}

// Launches of a group run at the same time: what one touches must be alive for
// all.
absl::Status ValidateLifetimes(const Place& place, const Entry& entry,
                               const std::vector<uint32_t>& ends) {
  for (uint32_t b = 0; b < SizeOf(entry.buffers()); ++b) {
    const Buffer& buffer = *entry.buffers()->Get(b);
    const uint32_t begun = GroupAt(entry, ends, buffer.first());
    const uint32_t ended = GroupAt(entry, ends, buffer.last());
    const bool late = begun < ends.size() &&
                      buffer.first() > entry.groups()->Get(begun)->first();
    const bool early = ended < ends.size() && buffer.last() < ends[ended] - 1;
    if (late || early) {
      return place.At("groups", late ? begun : ended, "")
          .Bad("buffer ", Text(buffer.name()), " lives from ", buffer.first(),
               " to ", buffer.last(), ", a part of the group only");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateGroups(const Place& place, const Plan& plan,
                            const Entry& entry,
                            const std::multimap<uint32_t, uint32_t>& writers) {
  if (SizeOf(entry.groups()) == 0) return absl::OkStatus();
  uint32_t next = 0;
  std::vector<uint32_t> ends;
  for (uint32_t i = 0; i < SizeOf(entry.groups()); ++i) {
    const Place at = place.At("groups", i, "");
    const Group& group = *entry.groups()->Get(i);
    GLM_RETURN_IF_ERROR(ValidateGroup(at, plan, entry, group, next));
    GLM_RETURN_IF_ERROR(ValidatePhases(at, plan, entry, group, writers));
    ends.push_back(next);
  }
  return ValidateLifetimes(place, entry, ends);
}

}  // namespace glm::plan
