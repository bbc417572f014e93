// The checks of `glmrun doctor`. Each adds its findings to a report, whatever
// is missing on the machine; none changes anything.
#ifndef GLM_TOOLS_GLMRUN_DOCTOR_CHECKS_H_
#define GLM_TOOLS_GLMRUN_DOCTOR_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/memory_limits.h"
#include "runtime/base/system_files.h"
#include "runtime/plan/plan_reader.h"
#include "tools/device/gpu_survey.h"
#include "tools/glmrun/doctor_report.h"
#include "tools/glmrun/pci_cards.h"

namespace glm::tools {

// What /proc and /sys say.
struct Machine {
  SystemFiles files;
  MemoryLimits limits;  // `lock` is that of /proc/self/limits
  uint64_t memory = 0;  // MemTotal, bytes
  std::vector<PciCard> cards;

  static Machine Read(const std::string& root);
  bool HasAmd() const;
};

// What a plan asks of a machine; of no plan: nothing is known.
struct PlanNeeds {
  uint32_t ranks = 1;
  // Rows of paged experts of all ranks, which are pinned in the host's memory
  // where they fit; 0: nothing is paged.
  uint64_t row_bytes = 0;
  uint64_t file_bytes = 0;  // of the weights, which are mapped whole
  // Beside weights and rows, of all ranks, for one sequence; 0: there is no
  // plan.
  uint64_t memory = 0;

  uint64_t HostBytes() const { return memory + row_bytes; }
  // Of the program's address space, with some for its own: stacks, libraries.
  uint64_t AddressBytes() const {
    return HostBytes() + file_bytes + (uint64_t{128} << 20);
  }

  static PlanNeeds Of(const PlanFile& plan);
};

// doctor_gpu.cc: kernel drivers, device files, libraries, what differs.
void CheckKernelDrivers(const Machine& machine, Report& report);
void CheckDrivers(const Machine& machine,
                  const std::vector<DriverSurvey>& drivers, Report& report);
void CheckRocm(const Machine& machine, const std::vector<DriverSurvey>& drivers,
               Report& report);
void CheckEnvironment(const Machine& machine, Report& report);

// doctor_pci.cc
void CheckLinks(const Machine& machine, Report& report);
void CheckNuma(const Machine& machine, Report& report);
void CheckPeers(const Machine& machine, Report& report);

// doctor_memory.cc
void CheckProcessor(const Machine& machine, Report& report);
void CheckMemory(const Machine& machine, Report& report);
void CheckLocking(const Machine& machine, const PlanNeeds& needs,
                  Report& report);
void CheckGroups(const Machine& machine, const PlanNeeds& needs,
                 Report& report);
void CheckAmdLimit(const Machine& machine, const PlanNeeds& needs,
                   Report& report);
void CheckHugePages(const Machine& machine, Report& report);

// doctor_plan.cc
void CheckTokenizer(const PlanFile& plan, Report& report);
// The devices of the plan's ranks, as --device auto takes them; empty where
// there are too few. They belong to `drivers` and `host`.
std::vector<const Device*> CheckCode(const PlanFile& plan,
                                     const std::vector<DriverSurvey>& drivers,
                                     const Device& host, Report& report);
// Returns how many rows would come from files.
uint64_t CheckFit(const PlanFile& plan,
                  const std::vector<const Device*>& devices,
                  const MemoryLimits& limits, Report& report);

// doctor_disk.cc. Reads for a second at most.
void CheckDisk(const Machine& machine, const PlanFile& plan,
               const std::vector<std::string>& weights_dirs,
               uint64_t rows_from_files, Report& report);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_DOCTOR_CHECKS_H_
