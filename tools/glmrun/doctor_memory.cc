// The processor, the host's memory and all that limits it.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/executor/expert_budget.h"
#include "runtime/executor/memory_plan.h"
#include "tools/glmrun/doctor_checks.h"

namespace glm::tools {
namespace {

constexpr uint64_t kPage = 4096;

std::optional<uint64_t> ToNumber(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// "123 kB" of /proc/meminfo in bytes.
uint64_t MemInfo(const SystemFiles& files, std::string_view key) {
  const uint64_t kib =
      ToNumber(files.ValueOf("/proc/meminfo", key).value_or("")).value_or(0);
  return std::min(kib, kNoLimit >> 10) << 10;
}

// The soft limit of a line of /proc/self/limits.
uint64_t LimitOf(const SystemFiles& files, std::string_view name) {
  return ToNumber(files.ValueOf("/proc/self/limits", name).value_or(""))
      .value_or(kNoLimit);
}

// What a step of instructions needs, as /proc/cpuinfo calls it.
constexpr std::array kLevel3 = {"avx", "avx2", "bmi1",  "bmi2", "f16c",
                                "fma", "abm",  "movbe", "xsave"};
constexpr std::array kLevel4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                                "avx512vl"};

template <size_t N>
bool HasAll(const std::set<std::string>& flags,
            const std::array<const char*, N>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const char* flag) { return flags.contains(flag); });
}

}  // namespace

Machine Machine::Read(const std::string& root) {
  Machine machine;
  machine.files = SystemFiles(root);
  machine.limits = ReadMemoryLimits(root);
  machine.limits.lock = LimitOf(machine.files, "Max locked memory");
  machine.memory = MemInfo(machine.files, "MemTotal");
  machine.cards = ReadPciCards(machine.files);
  return machine;
}

bool Machine::HasAmd() const {
  return std::any_of(cards.begin(), cards.end(),
                     [](const PciCard& card) { return card.amd(); });
}

void CheckProcessor(const Machine& machine, Report& report) {
  constexpr char kProcessor[] = "processor";
  const SystemFiles& files = machine.files;
  const std::string words =
      files.ValueOf("/proc/cpuinfo", "flags").value_or("");
  if (words.empty()) {
    report.Note(kProcessor, "no flags in /proc/cpuinfo",
                "plans for the host need an x86-64 processor with AVX2");
    return;
  }
  const std::set<std::string> flags = absl::StrSplit(words, ' ');
  const bool level3 = HasAll(flags, kLevel3);
  const std::string name =
      files.ValueOf("/proc/cpuinfo", "model name").value_or("unnamed");
  if (level3) {
    report.Ok(kProcessor,
              absl::StrCat(name, ", ",
                           HasAll(flags, kLevel4) ? "x86-64-v4" : "x86-64-v3"));
  } else {
    report.Note(kProcessor, absl::StrCat(name, ", below x86-64-v3"),
                "plans run on a GPU alone here; code for the host needs AVX2 "
                "and FMA, which a virtual machine may hide");
  }
}

void CheckMemory(const Machine& machine, Report& report) {
  constexpr char kMemory[] = "host memory", kSwap[] = "swap";
  const uint64_t available = machine.limits.machine;
  if (machine.memory == 0 || available == kNoLimit) {
    report.Note(kMemory, "/proc/meminfo says nothing", "");
    return;
  }
  const std::string text = absl::StrCat(
      FormatBytes(available), " available of ", FormatBytes(machine.memory),
      ", of which ", FormatBytes(std::min(available, HostReserve(available))),
      " are left to others by automatic sizes");
  if (available >= machine.memory / 2) {
    report.Ok(kMemory, text);
  } else {
    report.Note(kMemory, text,
                "other programs hold the rest: end them before a start, which "
                "sizes what it pins by what is available");
  }
  const uint64_t swap = MemInfo(machine.files, "SwapTotal");
  const uint64_t swapped =
      swap - std::min(swap, MemInfo(machine.files, "SwapFree"));
  if (swapped > swap / 4) {
    report.Note(kSwap,
                absl::StrCat(FormatBytes(swapped), " of ", FormatBytes(swap),
                             " in use: memory was short"),
                "pinned rows cannot be swapped and push others out: give less "
                "with --host-memory, or end other programs");
  } else {
    report.Ok(kSwap, swap == 0 ? "none"
                               : absl::StrCat(FormatBytes(swapped), " of ",
                                              FormatBytes(swap), " in use"));
  }
}

void CheckLocking(const Machine& machine, const PlanNeeds& needs,
                  Report& report) {
  constexpr char kLocking[] = "memlock limit", kSpace[] = "address space";
  const uint64_t lock = machine.limits.lock;
  const uint64_t wanted =
      needs.row_bytes > 0
          ? std::min(needs.row_bytes, machine.limits.Available())
          : machine.memory / 2;
  const std::string size =
      lock == kNoLimit ? "unlimited" : absl::StrCat(FormatBytes(lock));
  if (machine.cards.empty()) {
    report.Ok(kLocking, absl::StrCat(size, "; the host's CPU locks nothing"));
  } else if (lock >= wanted) {
    report.Ok(kLocking, size);
  } else {
    report.Problem(
        kLocking,
        absl::StrCat(size, ", ", FormatBytes(wanted),
                     " may be pinned; where the driver counts that, rows "
                     "beyond the limit stay in their files"),
        "LimitMEMLOCK=infinity in the unit; 'memlock unlimited', soft and "
        "hard, in /etc/security/limits.d for a login; --ulimit memlock=-1 for "
        "a container");
  }
  const uint64_t space = LimitOf(machine.files, "Max address space");
  if (space == kNoLimit) return;
  const std::string text = absl::StrCat(FormatBytes(space), " at most");
  const char* const remedy = "ulimit -v unlimited, LimitAS=infinity";
  if (!machine.cards.empty() && space < machine.memory) {
    // Drivers take addresses for all of a card's memory and of the host's.
    report.Problem(
        kSpace,
        absl::StrCat(text, ", drivers of GPUs reserve more than the ",
                     FormatBytes(machine.memory), " of the machine"),
        remedy);
  } else if (needs.memory == 0) {
    report.Note(kSpace, absl::StrCat(text, ", weight files are mapped whole"),
                remedy);
  } else if (space < needs.AddressBytes()) {
    report.Problem(kSpace,
                   absl::StrCat(text, ", the plan takes ",
                                FormatBytes(needs.AddressBytes()), ", ",
                                FormatBytes(needs.file_bytes),
                                " of it for its weight files"),
                   remedy);
  } else {
    report.Ok(kSpace, absl::StrCat(text, ", the plan takes ",
                                   FormatBytes(needs.AddressBytes())));
  }
}

void CheckGroups(const Machine& machine, const PlanNeeds& needs,
                 Report& report) {
  constexpr char kGroup[] = "control group";
  const MemoryLimits& limits = machine.limits;
  if (limits.group == kNoLimit) {
    report.Ok(kGroup, "no limit of memory");
    return;
  }
  const std::string text =
      absl::StrCat(FormatBytes(limits.group_limit), " at most, ",
                   FormatBytes(limits.group), " left");
  const char* const remedy =
      "MemoryMax=infinity in the unit and its slices, no --memory for a "
      "container; pinned memory counts, and beyond the limit the program is "
      "killed";
  if (limits.machine != kNoLimit && limits.group >= limits.machine) {
    report.Ok(kGroup, text);
  } else if (limits.machine == kNoLimit ||
             limits.group >= limits.machine / 4 * 3 ||
             (needs.memory > 0 && limits.group / 2 >= needs.HostBytes())) {
    report.Note(kGroup, text, remedy);
  } else {
    report.Problem(kGroup,
                   absl::StrCat(text, ", of ", FormatBytes(limits.machine),
                                " that the machine has"),
                   remedy);
  }
}

void CheckAmdLimit(const Machine& machine, const PlanNeeds& needs,
                   Report& report) {
  constexpr char kAmd[] = "ttm.pages_limit";
  if (!machine.HasAmd()) return;
  const uint64_t limit = machine.limits.amd;
  if (limit == kNoLimit) {
    report.Note(kAmd,
                "not in /sys/module/ttm: what AMD's driver may take of the "
                "host's memory is not known",
                "load the kernel's driver amdgpu; take care with "
                "--host-memory: a driver that takes too much loses the device");
    return;
  }
  // What automatic sizes leave to other programs of the card, too.
  const uint64_t usable = limit / 8 * 7;
  const uint64_t most =
      machine.memory - std::min(machine.memory, HostReserve(machine.memory));
  const uint64_t wanted =
      needs.row_bytes > 0 ? std::min(needs.row_bytes, most) : most;
  const std::string text =
      absl::StrCat(FormatBytes(limit), " for AMD's driver, ",
                   FormatBytes(usable), " of it used for rows");
  // Whole GiB, so that somebody can read it.
  const uint64_t gib = uint64_t{1} << 30;
  const uint64_t raised = (wanted / 7 * 8 / gib + 1) * gib;
  const uint64_t pages = std::min(machine.memory, raised) / kPage;
  const std::string remedy = absl::StrCat(
      "ttm.pages_limit=", pages, " ttm.page_pool_size=", pages,
      " on the kernel's command line, for ", FormatBytes(wanted), " of rows");
  if (usable >= wanted) {
    report.Ok(kAmd, text);
  } else if (needs.row_bytes > 0) {
    report.Problem(kAmd,
                   absl::StrCat(text, ", of ", FormatBytes(wanted),
                                " that would fit; the others come from files"),
                   remedy);
  } else {
    report.Note(kAmd, text, remedy);
  }
}

void CheckHugePages(const Machine& machine, Report& report) {
  constexpr char kHuge[] = "huge pages";
  const SystemFiles& files = machine.files;
  const uint64_t reserved = MemInfo(files, "Hugetlb");
  if (reserved > 0) {
    report.Note(kHuge,
                absl::StrCat(FormatBytes(reserved),
                             " are reserved, which glmrun does not use"),
                "sysctl vm.nr_hugepages=0 gives them back");
  }
  const auto mode = files.Line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!mode) {
    report.Note(kHuge, "transparent ones are not there", "");
  } else if (mode->find("[never]") != std::string::npos) {
    report.Note(kHuge,
                "transparent ones are off, the host's arena asks for "
                "them",
                "write madvise to /sys/kernel/mm/transparent_hugepage/enabled");
  } else {
    const size_t begin = mode->find('[') + 1, end = mode->find(']');
    const bool known = begin > 0 && end != std::string::npos && end > begin;
    report.Ok(kHuge,
              absl::StrCat("transparent ones: ",
                           known ? mode->substr(begin, end - begin) : *mode));
  }
}

}  // namespace glm::tools
