#include "runtime/serve/response_parts.h"

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/text/utf8.h"

namespace glm::serve {

using nlohmann::ordered_json;

ordered_json HeadJson(const AnswerHead& head, const char* object) {
  ordered_json json;
  json["id"] = head.id;
  json["object"] = object;
  json["created"] = head.created;
  json["model"] = head.model;
  json["system_fingerprint"] = head.fingerprint;
  return json;
}

ordered_json UsageJson(const AnswerUsage& usage) {
  ordered_json json;
  json["prompt_tokens"] = usage.prompt_tokens;
  json["completion_tokens"] = usage.completion_tokens;
  json["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  json["prompt_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  json["completion_tokens_details"]["reasoning_tokens"] =
      usage.reasoning_tokens;
  return json;
}

std::string TokenText(const text::Tokenizer& tokenizer, int32_t id) {
  return text::LossyUtf8(tokenizer.TokenBytes(id));
}

float JsonLogprob(float logprob) {
  return std::isfinite(logprob) ? logprob : -9999.0f;
}

std::string RandomId(const char* prefix) {
  std::random_device random;
  std::string id = prefix;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  }
  return id;
}

}  // namespace glm::serve
