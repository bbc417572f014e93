#include "tools/device/device_choice.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"

namespace glm::tools {
namespace {

// "cuda:1" -> "cuda" and 1. Empty kind: no such device.
std::pair<std::string, int> Parse(const std::string& name) {
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  int ordinal = 0;
  if (colon != std::string::npos) {
    const std::string digits = name.substr(colon + 1);
    if (digits.empty() || digits.size() > 3 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      return {};
    }
    ordinal = std::atoi(digits.c_str());
  }
  if (kind == "gpu" || kind == "cuda" || kind == "hip") return {kind, ordinal};
  const bool plain = colon == std::string::npos;
  if (plain && (kind == "auto" || kind == "host")) return {kind, 0};
  return {};
}

absl::StatusOr<OpenedDevice> OpenHost(int threads) {
  GLM_ASSIGN_OR_RETURN(auto device, CreateHostDevice({.threads = threads}));
  return OpenedDevice{std::move(device)};
}

}  // namespace

absl::Status HasCode(const PlanFile& plan, const Device& device) {
  absl::Status refusal = absl::FailedPreconditionError(
      absl::StrCat("the plan has no code for ", device.Describe()));
  if (plan.plan().code_objects() == nullptr) return refusal;
  for (const plan::CodeObject* object : *plan.plan().code_objects()) {
    const absl::Status status = device.CheckCodeObject(
        object->target()->c_str(),
        object->isa() == nullptr ? "" : object->isa()->c_str());
    if (status.ok()) return status;
    if (!absl::IsNotFound(status)) refusal = status;
  }
  return refusal;
}

void AddDeviceOption(CLI::App& command, DeviceChoice& choice) {
  command
      .add_option("--device", choice.name,
                  "auto, host, gpu, cuda or hip; cuda:1 is the second of them. "
                  "auto: a GPU that the plan has code for, or else the host")
      ->type_name("DEVICE")
      ->capture_default_str()
      ->check([](const std::string& text) -> std::string {
        return Parse(text).first.empty()
                   ? absl::StrCat("'", text,
                                  "' is no device; expected auto, host, gpu, "
                                  "cuda or hip, with a number as in cuda:1")
                   : "";
      });
  command.add_flag("--p2p", choice.peer,
                   "Plans of several ranks on GPUs: let the cards read each "
                   "other's memory. Off, data goes through the host's: the "
                   "direct path has hung whole machines");
}

absl::StatusOr<OpenedDevice> OpenDevice(const DeviceChoice& choice,
                                        const PlanFile& plan) {
  const auto [kind, ordinal] = Parse(choice.name);
  if (kind.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device ", choice.name, ": no such device"));
  }
  if (kind == "host") return OpenHost(choice.threads);
  std::string reasons;
  for (const auto& [name, api] :
       {std::pair{"cuda", GpuApi::kCuda}, {"hip", GpuApi::kHip}}) {
    if (kind != "auto" && kind != "gpu" && kind != name) continue;
    auto device = CreateGpuDevice({.api = api, .ordinal = ordinal});
    absl::Status status = device.status();
    if (status.ok()) status = HasCode(plan, **device);
    // A device that was asked for may get its code from the plan's source.
    if (!status.ok() && device.ok() && kind != "auto" &&
        (*device)->Compiles() && plan.plan().source() != nullptr &&
        plan.plan().source()->size() > 0) {
      status = absl::OkStatus();
    }
    if (status.ok()) {
      return OpenedDevice{*std::move(device), true, name, ordinal};
    }
    absl::StrAppend(&reasons, "\n", status.message());
  }
  if (kind == "auto") return OpenHost(choice.threads);
  return absl::UnavailableError(
      absl::StrCat("--device ", choice.name, ":", reasons));
}

}  // namespace glm::tools
