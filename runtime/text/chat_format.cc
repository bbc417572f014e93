#include "runtime/text/chat_format.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/prompt_builder.h"
#include "runtime/text/python_json.h"

namespace glm::text {
namespace {

using nlohmann::ordered_json;

constexpr int32_t kMaxPlaceholders = 1 << 20;
constexpr std::string_view kThinkOpen = "<think>";
constexpr std::string_view kThinkClose = "</think>";

constexpr std::string_view kToolsBefore =
    "<|system|>\n# Tools\n\nYou may call one or more functions to assist with "
    "the user query.\n\nYou are provided with function signatures within "
    "<tools></tools> XML tags:\n<tools>\n";
constexpr std::string_view kToolsAfter =
    "</tools>\n\nFor each function call, output the function name and "
    "arguments within the following XML format:\n"
    "<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key>"
    "<arg_value>{arg-value-1}</arg_value><arg_key>{arg-key-2}</arg_key>"
    "<arg_value>{arg-value-2}</arg_value>...</tool_call>";

std::string At(const char* list, size_t index) {
  return absl::StrCat(list, "[", index, "]");
}

absl::StatusOr<std::vector<Segment>> Visible(std::span<const ContentPart> parts,
                                             size_t message_index) {
  PromptBuilder out;
  for (const ContentPart& part : parts) {
    if (part.placeholder_count < 0 ||
        part.placeholder_count > kMaxPlaceholders) {
      return absl::InvalidArgumentError(absl::StrCat(
          At("messages", message_index), ": placeholder_count is ",
          part.placeholder_count, "; it must be 0 to ", kMaxPlaceholders));
    }
    switch (part.kind) {
      case ContentPart::Kind::kText:
        out.Text(part.text);
        break;
      case ContentPart::Kind::kImage:
        out.Control("<|begin_of_image|>");
        for (int32_t i = 0; i < part.placeholder_count; ++i) {
          out.Control("<|image|>");
        }
        out.Control("<|end_of_image|>");
        break;
      case ContentPart::Kind::kVideo:
        out.Control("<|begin_of_video|>");
        for (int32_t i = 0; i < part.placeholder_count; ++i) {
          out.Control("<|video|>");
        }
        out.Control("<|end_of_video|>");
        break;
      case ContentPart::Kind::kAudio:
        out.Control("<|begin_of_audio|><|end_of_audio|>");
        break;
      case ContentPart::Kind::kToolResult:
      case ContentPart::Kind::kToolReference:
        break;
    }
  }
  return out.Take();
}

// The object that describes a function, without the wrapper around it.
const ordered_json& Unwrapped(const ordered_json& tool) {
  auto function = tool.find("function");
  return function == tool.end() ? tool : *function;
}

std::string ToolLine(const ordered_json& tool) {
  std::string line = "{";
  for (const auto& [key, value] :
       tool.get_ref<const ordered_json::object_t&>()) {
    if (key != "defer_loading" && key != "strict") {
      absl::StrAppend(&line, line.size() > 1 ? ", " : "", PythonJson(key), ": ",
                      PythonJson(value));
    }
  }
  return line + "}";
}

absl::StatusOr<ordered_json> Arguments(const ToolCall& call,
                                       size_t message_index) {
  ordered_json arguments = call.arguments;
  if (arguments.is_string()) {
    const std::string& text = arguments.get_ref<const std::string&>();
    if (text.empty()) {
      return ordered_json::object();
    }
    absl::StatusOr<ordered_json> parsed = ParseJson(text);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(At("messages", message_index),
                       ": the arguments of tool call '", call.name, "' are ",
                       parsed.status().message(), "; send a JSON object"));
    }
    arguments = *std::move(parsed);
  } else if (arguments.is_null()) {
    return ordered_json::object();
  }
  if (!arguments.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(
        At("messages", message_index), ": the arguments of tool call '",
        call.name, "' are of JSON type ", arguments.type_name(),
        "; send a JSON object"));
  }
  return arguments;
}

class Renderer {
 public:
  explicit Renderer(const ChatRequest& request) : request_(request) {}

  absl::StatusOr<std::vector<Segment>> Run();

 private:
  // One tool's answer inside a run of tool messages.
  struct Result {
    std::string id;
    std::vector<Segment> response;
  };

  absl::Status Tools();
  absl::Status Assistant(const Message& message, size_t index);
  absl::Status ToolRun(size_t begin, size_t end);
  absl::Status AddResults(const Message& message, size_t index,
                          std::vector<Result>& results);
  std::vector<Segment> References(const Message& message) const;

  const ChatRequest& request_;
  PromptBuilder prompt_;
  // Assistant turns from this message on keep their reasoning.
  size_t keep_reasoning_from_ = 0;
};

absl::Status Renderer::Tools() {
  if (request_.tools.empty()) {
    return absl::OkStatus();
  }
  prompt_.Control(kToolsBefore);
  for (size_t i = 0; i < request_.tools.size(); ++i) {
    if (!request_.tools[i].is_object() ||
        !Unwrapped(request_.tools[i]).is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(At("tools", i),
                       " is no object; send {\"type\": \"function\", "
                       "\"function\": {...}}"));
    }
    const ordered_json& tool = Unwrapped(request_.tools[i]);
    auto deferred = tool.find("defer_loading");
    if (deferred != tool.end() && *deferred == true) {
      continue;
    }
    prompt_.Text(ToolLine(tool));
    prompt_.Control("\n");
  }
  prompt_.Control(kToolsAfter);
  return absl::OkStatus();
}

absl::Status Renderer::Assistant(const Message& message, size_t index) {
  GLM_ASSIGN_OR_RETURN(std::vector<Segment> visible,
                       Visible(message.content, index));
  std::string content = Concatenate(visible);
  size_t begin = 0;
  size_t end = content.size();
  std::optional<std::string> reasoning = message.reasoning_content;
  // A turn that was sent back as the model wrote it.
  if (size_t close = content.find(kThinkClose);
      !reasoning && close != std::string::npos) {
    std::string before = content.substr(0, close);
    size_t open = before.rfind(kThinkOpen);
    reasoning = open == std::string::npos
                    ? before
                    : before.substr(open + kThinkOpen.size());
    begin = content.rfind(kThinkClose) + kThinkClose.size();
  }
  PythonStrip(content, begin, end);

  prompt_.Control("<|assistant|><think>");
  if (reasoning && index >= keep_reasoning_from_) {
    prompt_.Text(*reasoning);
  }
  prompt_.Control(kThinkClose);
  prompt_.Slice(visible, begin, end);
  for (const ToolCall& call : message.tool_calls) {
    GLM_ASSIGN_OR_RETURN(ordered_json arguments, Arguments(call, index));
    prompt_.Control("<tool_call>");
    prompt_.Text(call.name);
    for (const auto& [key, value] :
         arguments.get_ref<const ordered_json::object_t&>()) {
      prompt_.Control("<arg_key>");
      prompt_.Text(key);
      prompt_.Control("</arg_key><arg_value>");
      prompt_.Text(value.is_string() ? value.get_ref<const std::string&>()
                                     : PythonJson(value));
      prompt_.Control("</arg_value>");
    }
    prompt_.Control("</tool_call>");
  }
  return absl::OkStatus();
}

std::vector<Segment> Renderer::References(const Message& message) const {
  PromptBuilder out;
  out.Control("<tools>\n");
  for (const ContentPart& part : message.content) {
    if (part.kind != ContentPart::Kind::kToolReference) {
      continue;
    }
    for (const ordered_json& wrapped : request_.tools) {
      const ordered_json& tool = Unwrapped(wrapped);
      auto name = tool.find("name");
      if (name != tool.end() && *name == part.text) {
        out.Text(ToolLine(tool));
        out.Control("\n");
      }
    }
  }
  out.Control("</tools>");
  return out.Take();
}

absl::Status Renderer::AddResults(const Message& message, size_t index,
                                  std::vector<Result>& results) {
  ContentPart::Kind first = message.content.empty()
                                ? ContentPart::Kind::kText
                                : message.content.front().kind;
  if (first == ContentPart::Kind::kToolReference) {
    results.push_back({message.tool_call_id, References(message)});
    return absl::OkStatus();
  }
  if (first == ContentPart::Kind::kToolResult) {
    for (const ContentPart& part : message.content) {
      if (part.kind == ContentPart::Kind::kToolResult) {
        results.push_back({part.id, {{part.text, false}}});
      }
    }
    return absl::OkStatus();
  }
  GLM_ASSIGN_OR_RETURN(std::vector<Segment> text,
                       Visible(message.content, index));
  results.push_back({message.tool_call_id, std::move(text)});
  return absl::OkStatus();
}

// Results go in the order of the calls when every id fits, otherwise in the
// order in which they were sent.
absl::Status Renderer::ToolRun(size_t begin, size_t end) {
  std::vector<Result> results;
  for (size_t i = begin; i < end; ++i) {
    GLM_RETURN_IF_ERROR(AddResults(request_.messages[i], i, results));
  }
  absl::flat_hash_map<std::string, size_t> order;
  bool fits = begin > 0 && request_.messages[begin - 1].role == "assistant";
  if (fits) {
    const std::vector<ToolCall>& calls =
        request_.messages[begin - 1].tool_calls;
    for (const ToolCall& call : calls) {
      fits = fits && !call.id.empty() &&
             order.try_emplace(call.id, order.size()).second;
    }
  }
  absl::flat_hash_set<std::string> seen;
  for (const Result& result : results) {
    fits = fits && order.contains(result.id) && seen.insert(result.id).second;
  }
  if (fits) {
    std::sort(results.begin(), results.end(),
              [&](const Result& a, const Result& b) {
                return order.at(a.id) < order.at(b.id);
              });
  }
  prompt_.Control("<|observation|>");
  for (const Result& result : results) {
    prompt_.Control("<tool_response>");
    for (const Segment& segment : result.response) {
      prompt_.Append(segment.text, segment.control);
    }
    prompt_.Control("</tool_response>");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Segment>> Renderer::Run() {
  const std::vector<Message>& messages = request_.messages;
  prompt_.Control("[gMASK]<sop><|system|>Reasoning Effort: ");
  prompt_.Control(request_.reasoning_effort == "low"    ? "Low"
                  : request_.reasoning_effort == "high" ? "High"
                                                        : "Max");
  GLM_RETURN_IF_ERROR(Tools());
  if (request_.clear_thinking) {
    for (size_t i = 0; i < messages.size(); ++i) {
      if (messages[i].role == "user") {
        keep_reasoning_from_ = i;
      }
    }
  }
  for (size_t i = 0; i < messages.size();) {
    const Message& message = messages[i];
    if (message.role == "tool") {
      size_t end = i;
      while (end < messages.size() && messages[end].role == "tool") {
        ++end;
      }
      GLM_RETURN_IF_ERROR(ToolRun(i, end));
      i = end;
      continue;
    }
    if (message.role == "assistant") {
      GLM_RETURN_IF_ERROR(Assistant(message, i));
    } else if (message.role == "user" || message.role == "system") {
      GLM_ASSIGN_OR_RETURN(std::vector<Segment> visible,
                           Visible(message.content, i));
      prompt_.Control(message.role == "user" ? "<|user|>" : "<|system|>");
      for (const Segment& segment : visible) {
        prompt_.Append(segment.text, segment.control);
      }
    }
    ++i;
  }
  if (request_.add_generation_prompt) {
    prompt_.Control("<|assistant|><think>");
  }
  return prompt_.Take();
}

}  // namespace

Message Message::Text(std::string role, std::string text) {
  Message message;
  message.role = std::move(role);
  message.content.emplace_back().text = std::move(text);
  return message;
}

absl::StatusOr<std::vector<Segment>> RenderChat(const ChatRequest& request) {
  return Renderer(request).Run();
}

std::string Concatenate(const std::vector<Segment>& segments) {
  std::string out;
  for (const Segment& segment : segments) {
    out += segment.text;
  }
  return out;
}

absl::StatusOr<std::vector<int32_t>> EncodeChat(
    const Tokenizer& tokenizer, const std::vector<Segment>& segments,
    size_t most_ids) {
  std::vector<Tokenizer::Span> spans;
  spans.reserve(segments.size());
  for (const Segment& segment : segments) {
    spans.push_back({segment.text, segment.control});
  }
  return tokenizer.EncodeSpans(spans, most_ids);
}

bool EndsInsideThinking(const std::vector<Segment>& segments) {
  constexpr std::array<std::string_view, 6> kDeciding = {
      kThinkOpen,      kThinkClose,  "<|user|>",
      "<|assistant|>", "<|system|>", "<|observation|>"};
  for (size_t i = segments.size(); i-- > 0;) {
    if (!segments[i].control) {
      continue;
    }
    size_t last = 0;
    std::string_view decides;
    for (std::string_view marker : kDeciding) {
      size_t found = segments[i].text.rfind(marker);
      if (found != std::string::npos && found >= last) {
        last = found;
        decides = marker;
      }
    }
    if (!decides.empty()) {
      return decides == kThinkOpen;
    }
  }
  return false;
}

}  // namespace glm::text
