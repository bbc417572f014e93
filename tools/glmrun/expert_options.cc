#include "tools/glmrun/expert_options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/paging/cache_policy.h"
#include "runtime/plan/plan_generated.h"
#include "tools/glmrun/command.h"

namespace glm::tools {

absl::Status ParseSlots(const std::string& text, ExpertOptions& options) {
  const bool number = !text.empty() &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (number) {
    if (text.size() > 9 || std::stoul(text) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' slots; expected 1 to 999999999"));
    }
    options.slots = static_cast<uint32_t>(std::stoul(text));
    return absl::OkStatus();
  }
  std::string size = text;
  uint64_t bytes = 0;
  try {
    const bool begins = !text.empty() && text[0] >= '0' && text[0] <= '9';
    const bool other = begins && text[0] == '0' && text.size() > 1;
    const std::string error =
        begins && !other ? CLI::AsSizeValue(false)(size) : "digits";
    if (!error.empty() || !CLI::detail::lexical_cast(size, bytes) ||
        bytes == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", text, "' is neither a number of slots nor a size as 14GiB"));
    }
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': ", error.what()));
  }
  options.slot_bytes = bytes;
  return absl::OkStatus();
}

CLI::Validator Digits() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const bool digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
        if (!digit) return "expected a size that begins with a digit";
        // Which would be read as octal or hexadecimal.
        const bool other = text[0] == '0' && text.size() > 1 &&
                           (text[1] == 'x' || text[1] == 'X' ||
                            (text[1] >= '0' && text[1] <= '9'));
        return other ? "expected a decimal size without leading zeros" : "";
      },
      "");
}

void AddExpertOptions(CLI::App& command, ExpertOptions& options) {
  command
      .add_option_function<std::string>(
          "--expert-slots",
          [&options](const std::string& text) {
            const absl::Status status = ParseSlots(text, options);
            if (!status.ok()) {
              throw CLI::ValidationError("--expert-slots",
                                         std::string(status.message()));
            }
          },
          "Of a plan whose experts are paged: experts that each device holds "
          "at "
          "a time, a number or memory for them as 14GiB; default: as many as "
          "fit after everything else")
      ->type_name("N|SIZE");
  std::vector<std::string> names;
  for (const paging::Policy& policy : paging::Policies()) {
    if (!policy.pinned) names.push_back(policy.name);
  }
  command
      .add_option("--expert-policy", options.policy,
                  "Which of them leave when others are asked for (glm-cachesim "
                  "compares); default: quota-lfru, or lfru where a layer's "
                  "share of the slots would be too small")
      ->check(CLI::IsMember(names));
  command
      .add_option(
          "--host-memory", options.host_bytes,
          "Memory of the host for the others, of each device its own, for "
          "example 96GiB; those "
          "beyond it are read from their files; default: what is "
          "available, less 2 GiB or a tenth")
      ->transform(CLI::AsSizeValue(false))
      ->transform(Digits());
}

absl::Status CheckExpertOptions(const ExpertOptions& options,
                                const PlanFile& plan) {
  const auto* rows = plan.plan().expert_rows();
  const bool asked = options.slots > 0 || options.slot_bytes > 0 ||
                     options.host_bytes > 0 || !options.policy.empty();
  if (!asked || (rows != nullptr && rows->size() > 0)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      plan.path(),
      ": its experts are not paged, so --expert-slots, --expert-policy and "
      "--host-memory mean nothing; compile it with --experts paged"));
}

absl::StatusOr<std::string> ExpertSummary(PagedExperts& paging) {
  GLM_ASSIGN_OR_RETURN(const auto counts, paging.Counts());
  uint64_t accesses = 0, misses = 0, bytes = 0;
  for (const ExpertCounts& c : counts) {
    accesses += c.accesses;
    misses += c.misses;
    bytes += c.bytes();
  }
  std::array<char, 32> rate;
  std::snprintf(rate.data(), rate.size(), "%.3f",
                accesses == 0 ? 0.0
                              : static_cast<double>(accesses - misses) /
                                    static_cast<double>(accesses));
  return absl::StrCat(
      "experts: ", rate.data(), " of ", accesses, " accesses were in a slot, ",
      FormatBytes(bytes), " came over the link",
      paging.rows_read() == 0
          ? ""
          : absl::StrCat(", ", paging.rows_read(), " rows from files"));
}

}  // namespace glm::tools
