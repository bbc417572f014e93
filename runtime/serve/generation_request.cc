#include "runtime/serve/generation_request.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/serve/api_error.h"
#include "runtime/text/python_json.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

// Fields that would change the answer and are not implemented, except where
// they say what happens anyway.
absl::Status RefuseUnsupported(const RequestFields& fields) {
  for (const char* name : {"logit_bias",
                           "functions",
                           "function_call",
                           "audio",
                           "web_search_options",
                           "suffix",
                           "echo",
                           "use_beam_search",
                           "min_p",
                           "typical_p",
                           "grammar",
                           "stop_token_ids",
                           "min_tokens",
                           "bad_words",
                           "allowed_token_ids",
                           "guided_json",
                           "guided_regex",
                           "guided_choice",
                           "guided_grammar",
                           "structured_outputs",
                           "prompt_logprobs"}) {
    const ordered_json* value = fields.Find(name);
    const bool harmless =
        value == nullptr || *value == false ||
        (value->is_number() && value->get<double>() == 0) ||
        (value->is_string() && value->get_ref<const std::string&>().empty()) ||
        (value->is_structured() && value->empty());
    if (!harmless) {
      return UnsupportedField(
          name, absl::StrCat(name, " is not supported; leave it out"));
    }
  }
  if (const ordered_json* modalities = fields.Find("modalities");
      modalities != nullptr && *modalities != ordered_json::array({"text"})) {
    return UnsupportedField("modalities",
                            "modalities: this server answers with text alone");
  }
  return absl::OkStatus();
}

absl::Status ParseStops(const RequestFields& fields,
                        std::vector<std::string>& stop) {
  const ordered_json* value = fields.Find("stop");
  if (value == nullptr) return absl::OkStatus();
  const ordered_json list =
      value->is_array() ? *value : ordered_json::array({*value});
  if (list.size() > kMaxStops) {
    return InvalidField(
        "stop", absl::StrCat("stop has ", list.size(), " strings; at most ",
                             kMaxStops, " are allowed"));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string path =
        value->is_array() ? ElementPath("stop", i) : std::string("stop");
    if (!list[i].is_string()) {
      return WrongType(path, "a string or a list of strings", list[i]);
    }
    std::string text = list[i].get<std::string>();
    if (text.empty() || text.size() > kMaxStopBytes) {
      return InvalidField(
          path, absl::StrCat(path, " has ", text.size(),
                             " bytes; it must have 1 to ", kMaxStopBytes));
    }
    stop.push_back(std::move(text));
  }
  return absl::OkStatus();
}

absl::Status ParseSampling(const RequestFields& fields, SamplerOptions& out) {
  GLM_RETURN_IF_ERROR(fields.Read("temperature", 0, 2, out.temperature));
  GLM_RETURN_IF_ERROR(fields.Read("top_p", 0, 1, out.top_p));
  out.top_p = std::max(out.top_p, 1e-6f);  // 0: the likeliest alone
  int64_t top_k = 0;
  GLM_RETURN_IF_ERROR(fields.Read("top_k", -1, 1 << 24, top_k));
  out.top_k = top_k < 0 ? 0 : static_cast<uint32_t>(top_k);
  GLM_RETURN_IF_ERROR(
      fields.Read("presence_penalty", -2, 2, out.presence_penalty));
  GLM_RETURN_IF_ERROR(
      fields.Read("frequency_penalty", -2, 2, out.frequency_penalty));
  GLM_RETURN_IF_ERROR(
      fields.Read("repetition_penalty", 0.01, 100, out.repetition_penalty));
  int64_t seed = static_cast<int64_t>(std::random_device()());
  GLM_RETURN_IF_ERROR(fields.Read("seed", INT64_MIN, INT64_MAX, seed));
  out.seed = static_cast<uint64_t>(seed);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ordered_json> ParseBody(std::string_view body) {
  absl::StatusOr<ordered_json> parsed = text::ParseJson(body);
  if (parsed.ok()) return parsed;
  return InvalidField("",
                      absl::StrCat("the body is ", parsed.status().message()),
                      "invalid_json");
}

absl::StatusOr<GenerationRequest> ParseGeneration(
    const RequestFields& fields, const SamplerOptions& defaults) {
  GLM_RETURN_IF_ERROR(RefuseUnsupported(fields));
  GenerationRequest request;
  request.sampling = defaults;
  GLM_RETURN_IF_ERROR(fields.Read("model", request.model));
  GLM_RETURN_IF_ERROR(fields.Read("stream", request.stream));
  if (const ordered_json* options = fields.Find("stream_options")) {
    if (!request.stream) {
      return InvalidField("stream_options",
                          "stream_options is only allowed with stream: true");
    }
    GLM_ASSIGN_OR_RETURN(const RequestFields stream,
                         RequestFields::Of(*options, "stream_options"));
    GLM_RETURN_IF_ERROR(stream.Read("include_usage", request.include_usage));
  }
  GLM_RETURN_IF_ERROR(fields.ReadInt("n", 1, kMaxChoices, request.n));
  int64_t best_of = request.n;
  GLM_RETURN_IF_ERROR(fields.Read("best_of", 1, kMaxChoices, best_of));
  if (best_of != request.n) {
    return UnsupportedField(
        "best_of", "best_of is not supported; leave it out, or ask for n");
  }
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    GLM_RETURN_IF_ERROR(fields.ReadInt(name, 1, INT32_MAX, request.max_tokens));
  }
  GLM_RETURN_IF_ERROR(ParseSampling(fields, request.sampling));
  GLM_RETURN_IF_ERROR(ParseStops(fields, request.stop));
  GLM_RETURN_IF_ERROR(fields.Read("ignore_eos", request.ignore_eos));
  return request;
}

}  // namespace glm::serve
