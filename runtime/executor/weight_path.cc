#include "runtime/executor/weight_path.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace glm {

std::string WeightFilePath(const PlanFile& plan, const std::string& path,
                           const std::vector<std::string>& weights_dirs) {
  const size_t slash = path.rfind('/');
  const std::string name =
      slash == std::string::npos ? path : path.substr(slash + 1);
  for (const std::string& folder : weights_dirs) {
    std::error_code error;
    const std::string candidate = absl::StrCat(folder, "/", name);
    if (std::filesystem::exists(candidate, error)) return candidate;
  }
  return path[0] == '/' ? path : plan.folder() + "/" + path;
}

}  // namespace glm
