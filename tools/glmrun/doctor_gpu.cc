// Drivers of GPUs: the kernel's, the libraries', and what makes them differ.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/executor/memory_plan.h"
#include "tools/glmrun/doctor_checks.h"

namespace glm::tools {
namespace {

constexpr char kKernel[] = "kernel driver";
constexpr char kLibraries[] = "gpu driver";
constexpr char kRocm[] = "rocm versions";

// Of a card's memory that another program has before glmrun begins; a desktop
// takes less.
constexpr uint64_t kForeignMemory = uint64_t{2} << 30;

constexpr uint64_t kBusyPercent = 50;

bool ServesCards(const Machine& machine, const DriverSurvey& driver) {
  for (const PciCard& card : machine.cards) {
    if (driver.api == "HIP" ? card.amd() : card.nvidia()) return true;
  }
  return false;
}

// "7.1" of "7.1.0-56"; empty for what is none.
std::string MajorMinor(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  if (parts.size() < 2 || parts[0].empty()) return "";
  const size_t end = parts[1].find_first_not_of("0123456789");
  return absl::StrCat(parts[0], ".", parts[1].substr(0, end));
}

std::string HeaderVersion(const SystemFiles& files, const char* path) {
  const auto major = files.ValueOf(path, "#define HIP_VERSION_MAJOR");
  const auto minor = files.ValueOf(path, "#define HIP_VERSION_MINOR");
  if (!major || !minor) return "";
  return absl::StrCat(*major, ".", *minor);
}

void CheckDeviceFiles(const Machine& machine, Report& report) {
  constexpr char kFiles[] = "device files";
  const SystemFiles& files = machine.files;
  const char* const remedy =
      "join the groups render and video (usermod -aG, then a new login; "
      "SupplementaryGroups= in the unit); for a container --device /dev/kfd "
      "--device /dev/dri";
  std::vector<std::string> paths = {"/dev/kfd"};
  for (const std::string& name : files.Names("/dev/dri")) {
    if (name.starts_with("renderD")) paths.push_back("/dev/dri/" + name);
  }
  bool all = paths.size() > 1;
  if (!all) report.Problem(kFiles, "no /dev/dri/renderD*", remedy);
  for (const std::string& path : paths) {
    if (files.Usable(path)) continue;
    all = false;
    report.Problem(kFiles,
                   absl::StrCat(path, files.Exists(path) ? ": may not be opened"
                                                         : ": is not there"),
                   remedy);
  }
  if (all) report.Ok(kFiles, "/dev/kfd and render nodes may be opened");
}

void CheckUse(const PciCard& card, Report& report) {
  constexpr char kUse[] = "gpu use";
  if (card.used_memory > kForeignMemory) {
    report.Note(
        kUse,
        absl::StrCat(card.Name(), ": ", FormatBytes(card.used_memory), " of ",
                     FormatBytes(card.memory), " are in use already"),
        "end what uses it: each GiB less is that of slots for experts");
  }
  if (card.busy_percent.value_or(0) >= kBusyPercent) {
    report.Note(kUse,
                absl::StrCat(card.Name(), ": ", *card.busy_percent,
                             " % busy before glmrun does anything"),
                "another program uses it, or one left it spinning: end that, "
                "or start the machine again");
  }
}

}  // namespace

void CheckKernelDrivers(const Machine& machine, Report& report) {
  if (machine.cards.empty()) {
    report.Note(kKernel, "no card of AMD or NVIDIA on the PCI bus",
                "plans run on the host's CPU; in a virtual machine hand a card "
                "through");
    return;
  }
  const std::string kernel =
      machine.files.Line("/proc/sys/kernel/osrelease").value_or("unknown");
  for (const PciCard& card : machine.cards) {
    const std::string wanted = card.amd() ? "amdgpu" : "nvidia";
    const std::string version =
        machine.files.Line(absl::StrCat("/sys/module/", wanted, "/version"))
            .value_or("");
    if (card.driver == wanted) {
      report.Ok(kKernel, absl::StrCat(card.Name(), ": ", wanted,
                                      version.empty() ? " of kernel " : " ",
                                      version, version.empty() ? kernel : ""));
    } else {
      report.Problem(
          kKernel,
          absl::StrCat(card.Name(), ": ",
                       card.driver.empty() ? "none" : card.driver, ", not ",
                       wanted),
          card.driver == "vfio-pci"
              ? "the card is set apart for virtual machines: take it out of "
                "vfio-pci's ids"
          : card.amd() ? "modprobe amdgpu; cards of gfx1201 need a recent "
                         "kernel and firmware-amd-graphics, or ROCm's "
                         "amdgpu-dkms (dmesg tells why it did not start)"
                       : "install NVIDIA's driver, which replaces nouveau");
    }
    CheckUse(card, report);
  }
  if (machine.HasAmd()) CheckDeviceFiles(machine, report);
}

void CheckDrivers(const Machine& machine,
                  const std::vector<DriverSurvey>& drivers, Report& report) {
  for (const DriverSurvey& driver : drivers) {
    if (!driver.status.ok()) {
      const std::string text(driver.status.message());
      if (ServesCards(machine, driver)) {
        report.Problem(kLibraries, text,
                       "install what is named; as another user or in a "
                       "container the library may be out of the loader's path");
      } else {
        report.Ok(
            kLibraries,
            absl::StrCat(driver.api, ": none, and no card that needs it"));
      }
    }
    for (size_t i = 0; i < driver.devices.size(); ++i) {
      const auto& device = driver.devices[i];
      const std::string name = absl::StrCat(driver.api, " device ", i, ": ");
      if (device.ok()) {
        report.Ok(kLibraries,
                  absl::StrCat(name, (*device)->Describe(), ", ",
                               FormatBytes((*device)->AvailableBytes()),
                               " for a plan"));
      } else {
        report.Problem(kLibraries,
                       absl::StrCat(name, device.status().message()),
                       "the card does not answer as it should: look at dmesg, "
                       "start the machine again, install a matching driver");
      }
    }
  }
}

void CheckRocm(const Machine& machine, const std::vector<DriverSurvey>& drivers,
               Report& report) {
  const SystemFiles& files = machine.files;
  std::vector<std::pair<std::string, std::string>> found;
  const auto add = [&](const char* name, const std::string& version) {
    if (!version.empty()) found.emplace_back(name, version);
  };
  for (const DriverSurvey& driver : drivers) {
    if (driver.api == "HIP") add("libamdhip64", MajorMinor(driver.version));
  }
  add("/opt/rocm",
      MajorMinor(files.Line("/opt/rocm/.info/version").value_or("")));
  for (const char* path : {"/opt/rocm/include/hip/hip_version.h",
                           "/usr/include/hip/hip_version.h"}) {
    add(path, HeaderVersion(files, path));
  }
  if (found.empty()) return;
  std::string text;
  bool same = true;
  for (const auto& [name, version] : found) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", version);
    same = same && version == found[0].second;
  }
  if (same) {
    report.Ok(kRocm, text);
  } else {
    report.Note(kRocm, text,
                "keep one version: code objects in a plan do not mind, but "
                "what is compiled here (--device hip without them) may find "
                "headers of another, and libraries that do not fit");
  }
}

void CheckEnvironment(const Machine& machine, Report& report) {
  struct Variable {
    const char* name;
    const char* effect;
  };
  constexpr Variable kVariables[] = {
      {"HIP_VISIBLE_DEVICES", "hides cards and changes their numbers"},
      {"ROCR_VISIBLE_DEVICES", "hides cards and changes their numbers"},
      {"GPU_DEVICE_ORDINAL", "hides cards and changes their numbers"},
      {"CUDA_VISIBLE_DEVICES", "hides cards and changes their numbers"},
      {"HSA_OVERRIDE_GFX_VERSION",
       "makes a card claim another architecture, whose code it may not run"},
      {"HSA_ENABLE_SDMA", "may turn copy engines off"},
      {"HIP_LAUNCH_BLOCKING", "waits for each launch"},
      {"CUDA_LAUNCH_BLOCKING", "waits for each launch"},
      {"AMD_SERIALIZE_KERNEL", "waits for each launch"},
      {"AMD_LOG_LEVEL", "writes what each call does"},
  };
  const std::string text =
      machine.files.Bytes("/proc/self/environ").value_or("");
  const std::vector<std::string> all = absl::StrSplit(text, '\0');
  for (const Variable& variable : kVariables) {
    for (const std::string& entry : all) {
      if (!entry.starts_with(absl::StrCat(variable.name, "="))) continue;
      report.Note("environment", absl::StrCat(entry, " ", variable.effect),
                  "leave it out unless it is meant");
    }
  }
}

}  // namespace glm::tools
