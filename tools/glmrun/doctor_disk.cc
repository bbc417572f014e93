// The disk of a plan's weights: the files, space beside them, reads.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/direct_file.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/executor/weight_path.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/weight_forms.h"
#include "tools/glmrun/doctor_checks.h"

namespace glm::tools {
namespace {

constexpr char kDisk[] = "disk";
constexpr char kFiles[] = "weight files";

// Bytes a second of reads from the file's start, for a second at most; 0 where
// it cannot be read.
double ReadRate(DirectFile& file, uint64_t size) {
  constexpr uint64_t kBlock = uint64_t{4} << 20;
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  const std::unique_ptr<std::byte, Free> block(
      static_cast<std::byte*>(std::aligned_alloc(kDirectAlignment, kBlock)));
  if (block == nullptr) return 0;
  const auto begin = std::chrono::steady_clock::now();
  double seconds = 0;
  uint64_t offset = 0;
  while (seconds < 1 && offset + kBlock <= size) {
    if (!file.Read(offset, {block.get(), kBlock}).ok()) return 0;
    offset += kBlock;
    seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
  }
  return seconds > 0 ? offset / seconds : 0;
}

// Whether the disk below a file turns; nullopt where the file system is no
// disk's, or of several.
std::optional<bool> Rotates(const SystemFiles& files, const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  auto folder = files.Resolve(absl::StrCat(
      "/sys/dev/block/", major(info.st_dev), ":", minor(info.st_dev)));
  if (!folder) return std::nullopt;
  if (!files.Exists(*folder + "/queue/rotational")) {
    folder->resize(folder->rfind('/'));  // from a partition
  }
  // A virtual machine's disk says that it turns, whatever holds it.
  if (folder->find("/virtio") != std::string::npos) return std::nullopt;
  const auto turns = files.Number(*folder + "/queue/rotational");
  if (!turns) return std::nullopt;
  return *turns != 0;
}

void CheckFreeSpace(const std::string& path, Report& report) {
  struct statvfs info = {};
  if (::statvfs(path.c_str(), &info) != 0) return;
  constexpr uint64_t kLeast = uint64_t{1} << 30;
  const uint64_t free = uint64_t{info.f_bavail} * info.f_frsize;
  const std::string text =
      absl::StrCat(FormatBytes(free), " free beside the plan in ", path);
  if (free >= kLeast) {
    report.Ok(kDisk, text);
  } else {
    report.Note(kDisk, text,
                "packing weights and the compiler's cache need space");
  }
}

void CheckReads(const Machine& machine, const std::string& path, uint64_t size,
                uint64_t total, uint64_t rows_from_files, Report& report) {
  auto file = DirectFile::Open(path);
  if (!file.ok()) {
    report.Problem(kDisk, std::string(file.status().message()),
                   "make it readable for the user that runs glmrun");
    return;
  }
  const auto turns = Rotates(machine.files, path);
  std::string text = std::filesystem::path(path).lexically_normal();
  absl::StrAppend(&text, !turns   ? ": kind of disk unknown"
                         : *turns ? ": on a disk that turns"
                                  : ": on a disk without moving parts");
  constexpr uint64_t kLeast = uint64_t{16} << 20;
  constexpr double kSlow = 0.5e9;
  double rate = 0;
  if (size < kLeast) {
    absl::StrAppend(&text, ", too small to time");
  } else {
    rate = ReadRate(*file, size);
    if (rate == 0) {
      report.Problem(kDisk, absl::StrCat(path, ": cannot be read"),
                     "look at dmesg: the disk or the file system is damaged");
      return;
    }
    absl::StrAppend(
        &text, absl::StrFormat(", %.2f GB/s %s, all %s in %.1f s", rate * 1e-9,
                               file->direct() ? "past the page cache"
                                              : "through the page cache",
                               FormatBytes(total), total / rate));
  }
  const bool slow = rate > 0 ? rate < kSlow : turns.value_or(false);
  const std::string remedy =
      "put the weights on an NVMe disk of the machine itself";
  if (slow && rows_from_files > 0) {
    report.Problem(kDisk,
                   absl::StrCat(text, "; ", rows_from_files,
                                " rows of experts are read from it in steps"),
                   absl::StrCat(remedy, ", or give more memory to the host"));
  } else if (slow) {
    report.Note(kDisk, text, remedy);
  } else {
    report.Ok(kDisk, text);
  }
}

}  // namespace

void CheckDisk(const Machine& machine, const PlanFile& file,
               const std::vector<std::string>& weights_dirs,
               uint64_t rows_from_files, Report& report) {
  CheckFreeSpace(file.folder(), report);
  const plan::Plan& plan = file.plan();
  if (plan::WeightWithoutData(plan) != nullptr) {
    report.Note(kFiles, "none: compiled with --weights none",
                "only glmrun bench --synthetic takes it");
    return;
  }
  if (plan.weight_files() == nullptr) return;
  uint64_t total = 0, largest = 0, wrong = 0;
  std::string path;
  for (const plan::WeightFile* weights : *plan.weight_files()) {
    const std::string at =
        WeightFilePath(file, weights->path()->str(), weights_dirs);
    struct stat info = {};
    if (::stat(at.c_str(), &info) != 0) {
      ++wrong;
      report.Problem(kFiles, absl::StrCat(at, ": is not there"),
                     "name its folder with --weights");
      continue;
    }
    const uint64_t size = static_cast<uint64_t>(info.st_size);
    if (size != weights->size()) {
      ++wrong;
      report.Problem(kFiles,
                     absl::StrCat(at, ": ", size,
                                  " bytes, the plan was made "
                                  "for ",
                                  weights->size()),
                     "fetch the file again, or compile again");
    }
    total += size;
    if (size < largest) continue;
    largest = size;
    path = at;
  }
  if (wrong == 0) {
    const uint32_t count = plan.weight_files()->size();
    report.Ok(kFiles, absl::StrCat(count, count == 1 ? " file, " : " files, ",
                                   FormatBytes(total)));
  }
  if (path.empty()) return;
  CheckReads(machine, path, largest, total, rows_from_files, report);
}

}  // namespace glm::tools
