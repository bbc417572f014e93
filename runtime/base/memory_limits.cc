#include "runtime/base/memory_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string_view>

namespace glm {
namespace {

// The first number of a file; nullopt for "max" and files that are not there.
std::optional<uint64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

// The number after `key` in a file of "key number" lines.
std::optional<uint64_t> NumberOf(const std::string& path,
                                 std::string_view key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    uint64_t value = 0;
    if (word == key) {
      if (file >> value) return value;
      return std::nullopt;
    }
    std::getline(file, word);
  }
  return std::nullopt;
}

// Names of one version's files.
struct GroupFiles {
  const char* limit;
  const char* used;
  const char* inactive;  // in memory.stat
};
constexpr GroupFiles kVersion2 = {"/memory.max", "/memory.current",
                                  "inactive_file"};
constexpr GroupFiles kVersion1 = {
    "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};

// Version 1 says "no limit" with a number near 2^63.
constexpr uint64_t kUnlimited = uint64_t{1} << 60;

// Takes the limits of the group `path` below `mount`, and of all that hold it.
void AddGroups(const std::string& mount, std::string path,
               const GroupFiles& files, MemoryLimits& limits) {
  for (;;) {
    const std::string folder = mount + path;
    const auto limit = NumberIn(folder + files.limit);
    if (limit && *limit < kUnlimited) {
      const uint64_t used = NumberIn(folder + files.used).value_or(0);
      const uint64_t inactive =
          NumberOf(folder + "/memory.stat", files.inactive).value_or(0);
      const uint64_t kept = used - std::min(used, inactive);
      const uint64_t free = *limit - std::min(*limit, kept);
      if (free < limits.group) {
        limits.group = free;
        limits.group_limit = *limit;
      }
    }
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

void ReadGroups(const std::string& root, MemoryLimits& limits) {
  std::ifstream file(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  // hierarchy:controllers:path
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,") {
      AddGroups(mount, path, kVersion2, limits);
    } else if (controllers.find(",memory,") != std::string::npos) {
      AddGroups(mount + "/memory", path, kVersion1, limits);
    }
  }
}

}  // namespace

MemoryLimits ReadMemoryLimits(const std::string& root) {
  MemoryLimits limits;
  if (const auto kib = NumberOf(root + "/proc/meminfo", "MemAvailable:")) {
    limits.machine = *kib << 10;
  }
  ReadGroups(root, limits);
  constexpr uint64_t kPage = 4096;
  const auto pages = NumberIn(root + "/sys/module/ttm/parameters/pages_limit");
  if (pages && *pages < kUnlimited / kPage &&
      ::access((root + "/dev/kfd").c_str(), F_OK) == 0) {
    limits.amd = *pages * kPage;
  }
  rlimit lock = {};
  if (::getrlimit(RLIMIT_MEMLOCK, &lock) == 0 &&
      lock.rlim_cur != RLIM_INFINITY) {
    limits.lock = lock.rlim_cur;
  }
  return limits;
}

}  // namespace glm
