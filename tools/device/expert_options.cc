#include "tools/device/expert_options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/paging/cache_policy.h"
#include "runtime/plan/plan_generated.h"
#include "tools/options/option_checks.h"

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
  const std::string wrong = ByteSize()(size);
  if (!wrong.empty() || size == "0") {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is neither a number of slots nor a size as 14GiB",
        wrong.empty() ? "" : ": ", wrong));
  }
  options.slot_bytes = std::stoull(size);
  return absl::OkStatus();
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
                  "share of the slots is too small for a step of decoding")
      ->check(CLI::IsMember(names));
  command
      .add_option(
          "--host-memory", options.host_bytes,
          "Memory of the host for the others, of each device its own, for "
          "example 96GiB; those "
          "beyond it are read from their files; default: what is "
          "available, less 2 GiB or a tenth")
      ->transform(ByteSize());
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

}  // namespace glm::tools
