// Small files in which Linux says what a machine is and allows: /proc, /sys,
// version files. For reports: what is not there, cannot be read or says
// something else is nullopt or empty, never an error.
#ifndef GLM_RUNTIME_BASE_SYSTEM_FILES_H_
#define GLM_RUNTIME_BASE_SYSTEM_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glm {

// Thread-safe.
class SystemFiles {
 public:
  // `root` comes before all paths, for tests: "" is the machine.
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string Path(std::string_view path) const;  // with the root

  bool Exists(std::string_view path) const;
  // Whether this process may read and write it.
  bool Usable(std::string_view path) const;

  // At most 64 KiB of a file, as it is.
  std::optional<std::string> Bytes(std::string_view path) const;
  // Its first line without spaces around it; nullopt when that is empty.
  std::optional<std::string> Line(std::string_view path) const;
  // A number at the start of the file, decimal or with 0x; digits only.
  std::optional<uint64_t> Number(std::string_view path) const;
  // What stands after `key` in the line that begins with it, spaces and a colon
  // left out: ValueOf("/proc/meminfo", "MemTotal") is "24684084 kB".
  std::optional<std::string> ValueOf(std::string_view path,
                                     std::string_view key) const;

  // Names in a folder, sorted.
  std::vector<std::string> Names(std::string_view folder) const;
  // Where a link leads, without the root; nullopt for what is not there or
  // leads out of the root.
  std::optional<std::string> Resolve(std::string_view path) const;

 private:
  std::string root_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_SYSTEM_FILES_H_
