// The options of glmrun serve.
#ifndef GLM_TOOLS_GLMRUN_SERVE_OPTIONS_H_
#define GLM_TOOLS_GLMRUN_SERVE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/glmrun/session.h"

namespace glm::tools {

struct ServeOptions {
  SessionOptions session;
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  std::string served_name;  // empty: the plan's
  std::string api_key;
  std::string api_key_file;
  std::string cors_origin;
  std::string log_format = "text";
  uint32_t parallel = 4;
  bool parallel_given = false;
  uint32_t queue = 64;
  std::optional<uint64_t> cache_memory;  // none: kDefaultCacheBytes, or less
  uint64_t body_memory = uint64_t{256} << 20;
  double drain_seconds = 4;
  uint32_t stall_seconds = 60;
};

void AddServeOptions(CLI::App& command, ServeOptions& options);

// Of --api-key, each line of --api-key-file that is neither empty nor begins
// with #, and GLM_API_KEY; empty: none was given. Errors: kInvalidArgument (a
// file that cannot be read or holds no key, a key that no header can carry,
// with its line). No message holds a key.
absl::StatusOr<std::vector<std::string>> ApiKeys(const ServeOptions& options);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_SERVE_OPTIONS_H_
