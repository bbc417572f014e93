#include "tools/glmrun/serve_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "tools/glmrun/command.h"
#include "tools/options/option_checks.h"

namespace glm::tools {
namespace {

constexpr char kKeyVariable[] = "GLM_API_KEY";

bool IsPort(std::string_view digits) {
  return !digits.empty() && digits.size() <= 5 && digits[0] != '0' &&
         digits.find_first_not_of("0123456789") == std::string_view::npos &&
         std::stoul(std::string(digits)) <= 65535;
}

// As browsers write an origin: what differs by a letter never matches.
bool IsOrigin(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz";
  const std::string of_scheme = std::string(kSmall) + "0123456789+-.";
  const std::string of_host = std::string(kSmall) + "0123456789-._";
  if (text.substr(0, scheme).find_first_not_of(of_scheme) !=
      std::string_view::npos) {
    return false;
  }
  std::string_view host = text.substr(scheme + 3);
  size_t end = host.find(':');
  if (host.starts_with('[')) {  // IPv6
    end = host.find(']');
    if (end == std::string_view::npos || end == 1 ||
        host.substr(1, end - 1).find_first_not_of("0123456789abcdef:.") !=
            std::string_view::npos) {
      return false;
    }
    ++end;
  } else {
    end = std::min(end, host.size());
    if (end == 0 || host.substr(0, end).find_first_not_of(of_host) !=
                        std::string_view::npos) {
      return false;
    }
  }
  const std::string_view port = host.substr(end);
  return port.empty() || (port[0] == ':' && IsPort(port.substr(1)));
}

CLI::Validator Origin() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        if (text == "*" || IsOrigin(text)) return "";
        return absl::StrCat("'", text,
                            "': expected * or an origin as browsers send it, "
                            "https://chat.example.com or "
                            "http://localhost:3000: small letters, no path, no "
                            "slash at its end");
      },
      "");
}

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
                  "Address to listen at, no name; 0.0.0.0: all of this "
                  "machine's, so that others reach it: give keys then")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      .add_option("--port", options.port,
                  "Port to listen at, 0: a free one, which is printed")
      ->check(WholeNumber(0, 65535))
      ->type_name("PORT")
      ->capture_default_str();
  command
      .add_option("--served-name", options.served_name,
                  "What clients give as the model; default: the name in the "
                  "plan, which glmrun inspect and /v1/models show")
      ->type_name("NAME");
  command
      .add_option("--api-key", options.api_key,
                  "Key that requests must carry; other users of this "
                  "machine can see it, so rather give a file, or "
                  "GLM_API_KEY in the environment; default: none, all are let "
                  "in")
      ->type_name("KEY");
  command
      .add_option("--api-key-file", options.api_key_file,
                  "File of such keys, one a line; empty lines and lines that "
                  "begin with # are left out")
      ->type_name("FILE");
  command
      .add_option("--cors-origin", options.cors_origin,
                  "Origin whose web pages may call, as "
                  "https://chat.example.com, or * for all; default: none")
      ->check(Origin())
      ->type_name("ORIGIN");
  command
      .add_option("--log-format", options.log_format,
                  "Of the lines on stderr, one for each request: times and "
                  "counts, no text")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command
      .add_option_function<uint32_t>(
          "--parallel",
          [&options](uint32_t count) {
            options.parallel = count;
            options.parallel_given = true;
          },
          "Answers at the same time; each takes memory for a whole context. A "
          "step decodes as many as the plan's largest batch (glmc compile "
          "--batch 1,2,4,8), more take turns")
      ->check(WholeNumber(1, 1024))
      ->type_name("N")
      ->default_str("4");
  command
      .add_option("--queue", options.queue,
                  "Answers that may wait for one of these places; more are "
                  "refused with 429")
      ->check(WholeNumber(0, 1 << 20))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--cache-memory", options.cache_memory,
                  "Memory of the host for states of prompts, from which the "
                  "next turn of a chat goes on, for example 4GiB, 0: none. On "
                  "the host's device part of --memory-limit. Default: 1GiB, "
                  "less where the plan leaves less")
      ->transform(ByteSize());
  command
      .add_option("--body-memory", options.body_memory,
                  "Memory for the bodies of all requests under way, beyond "
                  "which requests get 503; default: 256MiB")
      ->transform(ByteSize());
  command
      .add_option("--drain-seconds", options.drain_seconds,
                  "Time that answers have to end after SIGTERM or Ctrl-C, up "
                  "to 3600")
      ->check(NumberIn(0, 3600))
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      .add_option("--stall-seconds", options.stall_seconds,
                  "/health is 503 when a step has run for longer, or requests "
                  "wait and no step ends; raise it where a piece of a prompt "
                  "takes long")
      ->check(WholeNumber(1, 86400))
      ->type_name("SECONDS")
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
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const auto text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#') continue;
    GLM_RETURN_IF_ERROR(AddKey(
        line, absl::StrCat(options.api_key_file, ":", number, ": the key"),
        keys));
  }
  if (keys.size() == before) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.api_key_file, ": holds no key in ", number,
                     number == 1 ? " line" : " lines",
                     "; give one a line, # begins a comment"));
  }
  return keys;
}

}  // namespace glm::tools
