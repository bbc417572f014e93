// The checks over made-up machines: folders with the files of /proc, /sys and
// /dev that matter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/device/gpu/fake_driver.h"
#include "tools/glmrun/doctor_checks.h"

namespace glm::tools {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint64_t kGiB = uint64_t{1} << 30;

auto Is(Verdict verdict) { return Field(&Finding::verdict, verdict); }
auto Says(const std::string& text) {
  return Field(&Finding::text, HasSubstr(text));
}
auto Advises(const std::string& text) {
  return Field(&Finding::remedy, HasSubstr(text));
}

class DoctorTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text << "\n";
  }
  void Link(const std::string& path, const std::string& to) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::create_directories(root_ + to);
    std::filesystem::remove(full);
    std::filesystem::create_symlink(root_ + to, full);
  }
  void PutLink(const std::string& folder, double rate, int width,
               double most_rate = 32, int most_width = 16) {
    Put(folder + "/current_link_speed", absl::StrCat(rate, ".0 GT/s PCIe"));
    Put(folder + "/current_link_width", absl::StrCat(width));
    Put(folder + "/max_link_speed", absl::StrCat(most_rate, ".0 GT/s PCIe"));
    Put(folder + "/max_link_width", absl::StrCat(most_width));
  }

  // A card behind the bridges of its own, below a port of the processor:
  // .../0000:00:0N.1/0000:N0:00.0/0000:N1:00.0/0000:N2:00.0
  void PutCard(int n) {
    const std::string bus = absl::StrCat("0000:", n);
    const std::string port =
        absl::StrCat("/sys/devices/pci0000:00/0000:00:0", n, ".1");
    const std::string outer = absl::StrCat(port, "/", bus, "0:00.0");
    const std::string inner = absl::StrCat(outer, "/", bus, "1:00.0");
    const std::string card = absl::StrCat(inner, "/", bus, "2:00.0");
    for (const std::string& folder : {port, outer, inner, card}) {
      PutLink(folder, 32, 16);
    }
    Put(card + "/class", "0x038000");
    Put(card + "/vendor", "0x1002");
    Put(card + "/device", "0x7551");
    Put(card + "/numa_node", "-1");
    Put(card + "/mem_info_vram_total", absl::StrCat(32 * kGiB));
    Put(card + "/mem_info_vis_vram_total", absl::StrCat(32 * kGiB));
    Put(card + "/mem_info_vram_used", "30000000");
    Put(card + "/gpu_busy_percent", "0");
    const std::string group = absl::StrCat("/sys/kernel/iommu_groups/1", n);
    Put(group + "/type", "identity");
    Link(card + "/iommu_group", group);
    Link(card + "/driver", "/sys/bus/pci/drivers/amdgpu");
    Link(absl::StrCat("/sys/bus/pci/devices/", bus, "2:00.0"), card);
    Put(absl::StrCat("/dev/dri/renderD12", 7 + n), "");
  }

  // 192 GiB, two cards of 32 GiB, everything as it should be.
  void PutGoodDesktop() {
    Put("/proc/meminfo",
        absl::StrCat("MemTotal: ", 192 << 20, " kB\nMemAvailable: ", 186 << 20,
                     " kB\nSwapTotal: 0 kB\nSwapFree: 0 kB"));
    Put("/proc/cpuinfo",
        "model name : AMD Ryzen\nflags : fpu avx avx2 bmi1 bmi2 f16c fma abm "
        "movbe xsave avx512f avx512bw avx512cd avx512dq avx512vl");
    Put("/proc/cmdline", "quiet iommu=pt");
    Put("/proc/self/cgroup", "0::/user");
    Put("/proc/self/environ", "HOME=/root");
    PutLimits("unlimited");
    Put("/proc/sys/kernel/osrelease", "6.17.0");
    Put("/sys/devices/system/node/node0/cpulist", "0-15");
    Put("/sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never");
    Put("/sys/module/ttm/parameters/pages_limit",
        absl::StrCat(190 * kGiB / 4096));
    Put("/dev/kfd", "");
    Put("/opt/rocm/.info/version", "7.1.0-56");
    PutCard(1);
    PutCard(2);
  }
  void PutLimits(const std::string& lock,
                 const std::string& space = "unlimited") {
    Put("/proc/self/limits",
        absl::StrCat("Limit            Soft Limit    Hard Limit    Units\n"
                     "Max locked memory     ",
                     lock, "   ", lock, "   bytes\nMax address space     ",
                     space, "  ", space, "  bytes"));
  }

  // All checks of no plan, over drivers that are not there.
  Report Check(const PlanNeeds& needs = {}) {
    const Machine machine = Machine::Read(root_);
    Report report;
    CheckProcessor(machine, report);
    CheckMemory(machine, report);
    CheckGroups(machine, needs, report);
    CheckLocking(machine, needs, report);
    CheckAmdLimit(machine, needs, report);
    CheckHugePages(machine, report);
    CheckEnvironment(machine, report);
    CheckKernelDrivers(machine, report);
    CheckRocm(machine, {}, report);
    CheckLinks(machine, report);
    CheckNuma(machine, report);
    CheckPeers(machine, report);
    return report;
  }
  // What it says about one thing.
  static std::vector<Finding> Of(const Report& report,
                                 const std::string& section) {
    std::vector<Finding> found;
    for (const Finding& finding : report.findings()) {
      if (finding.section == section) found.push_back(finding);
    }
    return found;
  }

  const std::string root_ = ::testing::TempDir() + "doctor";
  const std::string card_ =
      "/sys/devices/pci0000:00/0000:00:02.1/0000:20:00.0/0000:21:00.0/"
      "0000:22:00.0";
  const std::string port_ = "/sys/devices/pci0000:00/0000:00:02.1";
};

TEST_F(DoctorTest, AGoodDesktopIsOk) {
  PutGoodDesktop();
  const Report report = Check({.ranks = 2, .row_bytes = 146 * kGiB});
  EXPECT_THAT(report.findings(), Each(Is(Verdict::kOk))) << report.ToString();
  EXPECT_THAT(Of(report, "pcie link"),
              ElementsAre(Says("0000:12:00.0 (AMD 7551): 32 GT/s x16, 63.0"),
                          Says("0000:22:00.0 (AMD 7551): 32 GT/s x16, 63.0")));
  EXPECT_THAT(Of(report, "processor"), ElementsAre(Says("x86-64-v4")));
  EXPECT_THAT(Of(report, "iommu and p2p"), Contains(Says("iommu=pt")));
}

TEST_F(DoctorTest, ABadDesktopHasEachProblemWithItsRemedy) {
  PutGoodDesktop();
  // The second slot is the chipset's.
  PutLink(port_, 16, 4, 16, 4);
  PutLink(port_ + "/0000:20:00.0", 16, 4);
  PutLimits("65536");
  Put("/proc/cmdline", "quiet amd_iommu=on");
  for (const char* group : {"11", "12"}) {
    Put(absl::StrCat("/sys/kernel/iommu_groups/", group, "/type"), "DMA-FQ");
  }
  Put("/sys/fs/cgroup/user/memory.max", absl::StrCat(16 * kGiB));
  Put("/sys/fs/cgroup/user/memory.current", absl::StrCat(kGiB));
  Put("/sys/module/ttm/parameters/pages_limit", absl::StrCat(96 * kGiB / 4096));
  const Report report = Check({.ranks = 2, .row_bytes = 146 * kGiB});
  EXPECT_THAT(
      Of(report, "pcie link"),
      ElementsAre(Is(Verdict::kOk),
                  AllOf(Is(Verdict::kProblem),
                        Says("16 GT/s x4, 7.9 GB/s at 0000:20:00.0, of 32 GT/s "
                             "x16, 63.0 GB/s"),
                        Advises("0000:00:02.1 does 16 GT/s x4 at most"))));
  EXPECT_THAT(Of(report, "memlock limit"),
              ElementsAre(AllOf(Is(Verdict::kProblem), Says("64.0 KiB, "),
                                Advises("LimitMEMLOCK=infinity"))));
  EXPECT_THAT(Of(report, "iommu and p2p"),
              Contains(AllOf(Is(Verdict::kProblem), Says("amd_iommu=on"),
                             Advises("iommu=pt"))));
  EXPECT_THAT(Of(report, "control group"),
              ElementsAre(AllOf(Is(Verdict::kProblem),
                                Says("16.0 GiB at most, 15.0 GiB left"),
                                Advises("MemoryMax=infinity"))));
  EXPECT_THAT(Of(report, "ttm.pages_limit"),
              ElementsAre(AllOf(Is(Verdict::kProblem),
                                Says("96.0 GiB for AMD's driver, 84.0 GiB"),
                                Advises("ttm.pages_limit=43778048 "))));
  EXPECT_EQ(report.Count(Verdict::kProblem), 5) << report.ToString();
}

// What a plan needs counts, not what the machine has.
TEST_F(DoctorTest, LimitsAreComparedWithThePlan) {
  Put("/proc/meminfo", absl::StrCat("MemTotal: ", 64 << 20,
                                    " kB\nMemAvailable: ", 60 << 20, " kB"));
  Put("/proc/self/cgroup", "0::/user");
  Put("/sys/fs/cgroup/user/memory.max", absl::StrCat(8 * kGiB));
  Put("/sys/fs/cgroup/user/memory.current", "0");
  PutLimits("unlimited", absl::StrCat(20 * kGiB));
  const PlanNeeds small = {.file_bytes = 20 << 20, .memory = 5 << 20};
  EXPECT_EQ(Check(small).Count(Verdict::kProblem), 0)
      << Check(small).ToString();
  EXPECT_THAT(Of(Check(small), "address space"),
              ElementsAre(AllOf(Is(Verdict::kOk), Says("20.0 GiB at most"))));
  const PlanNeeds large = {.file_bytes = 30 * kGiB, .memory = 6 * kGiB};
  EXPECT_THAT(Of(Check(large), "address space"),
              ElementsAre(AllOf(Is(Verdict::kProblem),
                                Says("takes 36.1 GiB, 30.0 GiB of it"))));
  EXPECT_THAT(Of(Check(large), "control group"),
              ElementsAre(Is(Verdict::kProblem)));
  EXPECT_THAT(Of(Check(), "address space"), ElementsAre(Is(Verdict::kNote)));
  PutGoodDesktop();
  PutLimits("unlimited", absl::StrCat(20 * kGiB));
  EXPECT_THAT(
      Of(Check(small), "address space"),
      ElementsAre(AllOf(Is(Verdict::kProblem), Says("drivers of GPUs"))));
}

TEST_F(DoctorTest, NothingThereIsNoCrash) {
  const Report report = Check();
  EXPECT_EQ(report.Count(Verdict::kProblem), 0) << report.ToString();
  EXPECT_THAT(Of(report, "kernel driver"),
              ElementsAre(AllOf(Is(Verdict::kNote), Says("no card"))));
}

TEST_F(DoctorTest, OddFilesAreNoCrash) {
  PutGoodDesktop();
  PutLink(card_, 0, 255, 0, 255);
  for (const char* name : {"current_link_speed", "max_link_speed"}) {
    Put(absl::StrCat(card_, "/", name), "Unknown");
  }
  Put(card_ + "/numa_node", "");
  Put(card_ + "/mem_info_vram_total", std::string(1000, '9'));
  Put("/proc/meminfo", "MemTotal: 99999999999999999999999 kB\nMemAvailable:");
  Put("/proc/self/limits", "Max locked memory");
  Put("/sys/module/ttm/parameters/pages_limit", "-1");
  Check({.row_bytes = kGiB});
  Put(port_ + "/config", std::string(255, '\xff'));
  Check();
}

TEST_F(DoctorTest, ALinkThatSaysNothingIsNoted) {
  PutGoodDesktop();
  for (const std::string& folder :
       {port_, port_ + "/0000:20:00.0", port_ + "/0000:20:00.0/0000:21:00.0",
        card_}) {
    Put(folder + "/current_link_speed", "Unknown");
    Put(folder + "/current_link_width", "0");
  }
  EXPECT_THAT(Of(Check(), "pcie link"),
              Contains(AllOf(Is(Verdict::kNote), Says("does not say"))));
}

TEST_F(DoctorTest, ALinkAtRestIsNotedAndANarrowOneIsAProblem) {
  PutGoodDesktop();
  PutLink(port_, 2, 16);
  EXPECT_THAT(Of(Check(), "pcie link"),
              Contains(AllOf(Is(Verdict::kNote), Advises("while idle"))));
  PutLink(port_, 2, 8);
  EXPECT_THAT(Of(Check(), "pcie link"),
              Contains(AllOf(Is(Verdict::kProblem), Advises("seat the card"))));
}

TEST_F(DoctorTest, NodesOfTheCardsAreNamed) {
  PutGoodDesktop();
  Put("/sys/devices/system/node/node1/cpulist", "16-31");
  EXPECT_THAT(Of(Check(), "numa"), ElementsAre(Is(Verdict::kNote)));
  std::filesystem::remove(root_ + "/sys/bus/pci/devices/0000:12:00.0");
  Put(card_ + "/numa_node", "1");
  EXPECT_THAT(Of(Check(), "numa"),
              ElementsAre(AllOf(Is(Verdict::kNote), Says("at node 1"),
                                Advises("--cpunodebind=1 --preferred=1"))));
}

TEST_F(DoctorTest, OneCardBehindAnIommuIsANoteAlone) {
  PutGoodDesktop();
  std::filesystem::remove(root_ + "/sys/bus/pci/devices/0000:12:00.0");
  Put("/sys/kernel/iommu_groups/12/type", "DMA");
  EXPECT_THAT(Of(Check(), "iommu and p2p"), ElementsAre(Is(Verdict::kNote)));
}

TEST_F(DoctorTest, PortsThatRedirectAreFoundInTheirConfiguration) {
  PutGoodDesktop();
  std::string config(4096, '\0');
  // Version 1 of capability 1 at 0x100, the next at 0x140: ACS, which redirects
  // requests.
  config.replace(0x100, 4, std::string("\x01\x00\x01\x14", 4));
  config.replace(0x140, 8, std::string("\x0d\x00\x01\x00\xff\x00\x04\x00", 8));
  Put(port_ + "/config", config);
  EXPECT_THAT(Of(Check(), "iommu and p2p"),
              Contains(AllOf(Is(Verdict::kNote), Says("at 0000:00:02.1"))));
  config[0x146] = 1;
  Put(port_ + "/config", config);
  EXPECT_THAT(Of(Check(), "iommu and p2p"), Each(Is(Verdict::kOk)));
}

TEST_F(DoctorTest, KernelDriversAndDeviceFilesAreNamed) {
  PutGoodDesktop();
  std::filesystem::remove(root_ + card_ + "/driver");
  Link(card_ + "/driver", "/sys/bus/pci/drivers/vfio-pci");
  std::filesystem::remove(root_ + "/dev/kfd");
  const Report report = Check();
  EXPECT_THAT(Of(report, "kernel driver"),
              Contains(AllOf(Is(Verdict::kProblem), Says("vfio-pci"))));
  EXPECT_THAT(Of(report, "device files"),
              ElementsAre(AllOf(Is(Verdict::kProblem), Says("/dev/kfd"),
                                Advises("render and video"))));
}

TEST_F(DoctorTest, WhatUsesACardOrMemoryAlreadyIsNoted) {
  PutGoodDesktop();
  Put(card_ + "/mem_info_vram_used", absl::StrCat(20 * kGiB));
  Put(card_ + "/gpu_busy_percent", "100");
  Put("/proc/meminfo",
      "MemTotal: 1000000 kB\nMemAvailable: 100000 kB\nSwapTotal: 1000 kB\n"
      "SwapFree: 10 kB\nHugetlb: 5000 kB");
  Put("/proc/self/environ",
      std::string("A=b\0HSA_OVERRIDE_GFX_VERSION=11.0.0\0", 36));
  const Report report = Check();
  EXPECT_THAT(Of(report, "gpu use"),
              ElementsAre(Says("20.0 GiB of 32.0 GiB"), Says("100 % busy")));
  EXPECT_THAT(Of(report, "host memory"), ElementsAre(Is(Verdict::kNote)));
  EXPECT_THAT(Of(report, "swap"), ElementsAre(Is(Verdict::kNote)));
  EXPECT_THAT(Of(report, "huge pages"), Contains(Says("reserved")));
  EXPECT_THAT(Of(report, "environment"),
              ElementsAre(Says("HSA_OVERRIDE_GFX_VERSION=11.0.0 makes")));
}

TEST_F(DoctorTest, VersionsOfRocmThatDifferAreNoted) {
  PutGoodDesktop();
  EXPECT_THAT(Of(Check(), "rocm versions"), ElementsAre(Is(Verdict::kOk)));
  Put("/usr/include/hip/hip_version.h",
      "#define HIP_VERSION_MAJOR 5\n#define HIP_VERSION_MINOR 2");
  EXPECT_THAT(Of(Check(), "rocm versions"),
              ElementsAre(AllOf(
                  Is(Verdict::kNote),
                  Says("/opt/rocm 7.1, /usr/include/hip/hip_version.h 5.2"))));
}

TEST_F(DoctorTest, ADriverIsAProblemWhereItsCardIs) {
  PutGoodDesktop();
  std::vector<DriverSurvey> drivers;
  drivers.push_back(SurveyDriver("CUDA", absl::UnavailableError("libcuda?")));
  drivers.push_back(SurveyDriver("HIP", absl::UnavailableError("libamdhip?")));
  Report report;
  CheckDrivers(Machine::Read(root_), drivers, report);
  EXPECT_THAT(report.findings(),
              ElementsAre(AllOf(Is(Verdict::kOk), Says("CUDA: none")),
                          AllOf(Is(Verdict::kProblem), Says("libamdhip?"))));
}

TEST_F(DoctorTest, DevicesOfADriverAreOpenedAndNamed) {
  FakeGpu gpu;
  gpu.architecture = "gfx1201";
  std::vector<DriverSurvey> drivers;
  drivers.push_back(SurveyDriver("HIP", &gpu.driver()));
  ASSERT_THAT(drivers[0].devices, Not(IsEmpty()));
  Report report;
  CheckDrivers(Machine::Read(root_), drivers, report);
  EXPECT_THAT(report.findings(),
              Each(AllOf(Is(Verdict::kOk), Says("(gfx1201)"), Says("7.5 GiB"))))
      << report.ToString();
  drivers.clear();
  EXPECT_THAT(gpu.misuse, IsEmpty());
  for (gpu.fail_at = 1; gpu.fail_at < 6; ++gpu.fail_at) {
    gpu.calls.clear();
    drivers.push_back(SurveyDriver("HIP", &gpu.driver()));
  }
  Report broken;
  CheckDrivers(Machine::Read(root_), drivers, broken);
  EXPECT_GT(broken.findings().size(), 0u);
}

TEST(DoctorReport, JsonHoldsWhatTheTextHolds) {
  Report report;
  report.Ok("a", "fine");
  report.Note("b", "so \xff so", "do");
  EXPECT_EQ(report.ToString(1), "note     b                  so \xff so\n" +
                                    std::string(28, ' ') + "-> do\n");
  auto json = nlohmann::json::parse(report.ToJson());
  EXPECT_EQ(json["verdict"], "note");
  EXPECT_EQ(json["notes"], 1);
  ASSERT_THAT(json["findings"], SizeIs(2));
  EXPECT_EQ(json["findings"][1]["remedy"], "do");
  report.Problem("c", "bad", "");
  EXPECT_EQ(nlohmann::json::parse(report.ToJson())["verdict"], "problem");
  EXPECT_EQ(report.Summary(), "1 problem, 1 note, 1 ok");
}

}  // namespace
}  // namespace glm::tools
