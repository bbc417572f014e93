#include "runtime/base/system_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace glm {
namespace {

constexpr size_t kMostBytes = 64 << 10;
constexpr char kSpace[] = " \t\r\n";

std::string_view Stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

std::string SystemFiles::Path(std::string_view path) const {
  return root_ + std::string(path);
}

bool SystemFiles::Exists(std::string_view path) const {
  return ::access(Path(path).c_str(), F_OK) == 0;
}

bool SystemFiles::Usable(std::string_view path) const {
  return ::access(Path(path).c_str(), R_OK | W_OK) == 0;
}

std::optional<std::string> SystemFiles::Bytes(std::string_view path) const {
  // Not to wait for what is no file.
  const int fd = ::open(Path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string text(kMostBytes, '\0');
  size_t filled = 0;
  ssize_t count = 0;
  // A read of a file of the kernel may give a part of it.
  while (filled < text.size() &&
         (count = ::read(fd, text.data() + filled, text.size() - filled)) > 0) {
    filled += static_cast<size_t>(count);
  }
  ::close(fd);
  if (count < 0 && filled == 0) return std::nullopt;
  text.resize(filled);
  return text;
}

std::optional<std::string> SystemFiles::Line(std::string_view path) const {
  const auto text = Bytes(path);
  if (!text) return std::nullopt;
  const std::string_view line =
      Stripped(std::string_view(*text).substr(0, text->find('\n')));
  if (line.empty()) return std::nullopt;
  return std::string(line);
}

std::optional<uint64_t> SystemFiles::Number(std::string_view path) const {
  const auto line = Line(path);
  if (!line) return std::nullopt;
  std::string_view digits = *line;
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::string> SystemFiles::ValueOf(std::string_view path,
                                                std::string_view key) const {
  const auto text = Bytes(path);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const size_t begin = line.find_first_not_of(": \t");
    if (begin == 0) continue;  // a longer word
    if (begin == std::string_view::npos) return std::nullopt;
    return std::string(Stripped(line.substr(begin)));
  }
  return std::nullopt;
}

std::vector<std::string> SystemFiles::Names(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(Path(folder), error), end;
  while (!error && at != end) {
    names.push_back(at->path().filename());
    at.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> SystemFiles::Resolve(std::string_view path) const {
  std::error_code error;
  const std::string full = std::filesystem::canonical(Path(path), error);
  if (error) return std::nullopt;
  if (root_.empty()) return full;
  const std::string base = std::filesystem::canonical(root_, error);
  if (error || !full.starts_with(base + "/")) return std::nullopt;
  return full.substr(base.size());
}

}  // namespace glm
