#include "tools/glmrun/serve_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "tools/glmrun/command.h"
#include "tools/options/option_checks.h"

namespace glm::tools {
namespace {

constexpr char kKeyVariable[] = "GLM_API_KEY";

absl::Status AddKey(std::string key, const std::string& from,
                    std::vector<std::string>& keys) {
  absl::StripAsciiWhitespace(&key);
  if (key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(from, " is empty"));
  }
  for (const char c : key) {
    if (c <= 0x20 || c >= 0x7f) {
      return absl::InvalidArgumentError(
          absl::StrCat(from, " holds characters other than printable ASCII"));
    }
  }
  keys.push_back(std::move(key));
  return absl::OkStatus();
}

}  // namespace

void AddServeOptions(CLI::App& command, ServeOptions& options) {
  AddSessionOptions(command, options.session);
  command
      .add_option("--host", options.host,
                  "Address to listen at; 0.0.0.0: all of this machine's")
      ->capture_default_str();
  command
      .add_option("--port", options.port, "Port to listen at, 0: a free one")
      ->capture_default_str();
  command.add_option("--served-name", options.served_name,
                     "The name of the model for clients; default: the plan's");
  command.add_option("--api-key", options.api_key,
                     "Key that requests must carry; other users of this "
                     "machine can see it, so rather give a file, or "
                     "GLM_API_KEY in the environment");
  command
      .add_option("--api-key-file", options.api_key_file,
                  "File of such keys, one a line")
      ->type_name("FILE");
  command
      .add_option("--cors-origin", options.cors_origin,
                  "Origin whose pages may call, or *; default: none")
      ->type_name("ORIGIN");
  command
      .add_option("--log-format", options.log_format,
                  "Of the lines on stderr, one for each request")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command
      .add_option("--parallel", options.parallel,
                  "Answers at the same time; each takes memory for a whole "
                  "context. A step decodes as many as the plan's largest "
                  "batch (glmc compile --batch 1,2,4,8)")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--queue", options.queue,
                  "Answers that may wait for one of these places")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--cache-memory", options.cache_memory,
                  "Memory of the host for states of prompts, for example "
                  "4GiB, 0: none; default: 1GiB")
      ->transform(ByteSize());
  command
      .add_option("--drain-seconds", options.drain_seconds,
                  "Time that answers have to end after SIGTERM or Ctrl-C")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
}

absl::StatusOr<std::vector<std::string>> ApiKeys(const ServeOptions& options) {
  std::vector<std::string> keys;
  if (!options.api_key.empty()) {
    GLM_RETURN_IF_ERROR(AddKey(options.api_key, "--api-key", keys));
  }
  if (const char* key = std::getenv(kKeyVariable); key != nullptr) {
    GLM_RETURN_IF_ERROR(AddKey(key, kKeyVariable, keys));
  }
  if (options.api_key_file.empty()) return keys;
  std::ifstream file(options.api_key_file);
  if (!file) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.api_key_file,
                     ": cannot be read; give a file of keys, one a line"));
  }
  const size_t before = keys.size();
  for (std::string line; std::getline(file, line);) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    GLM_RETURN_IF_ERROR(
        AddKey(line, absl::StrCat(options.api_key_file, ": a line"), keys));
  }
  if (keys.size() == before) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.api_key_file, ": holds no key"));
  }
  return keys;
}

}  // namespace glm::tools
