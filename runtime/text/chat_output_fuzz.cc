// Any tokens as a model's answer: deltas are UTF-8, calls begin once and end as
// JSON, stop strings never show, and what comes out does not depend on how text
// is cut into tokens. nano's tokenizer.json comes from the environment:
// GLM_FUZZ_TOKENIZER.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "runtime/base/mapped_file.h"
#include "runtime/text/chat_output.h"
#include "runtime/text/python_json.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/utf8.h"

namespace {

using glm::text::ChatDelta;
using glm::text::ChatOutput;
using glm::text::ChatOutputOptions;
using glm::text::Tokenizer;

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// With the tags of arguments as tokens, and without.
std::unique_ptr<Tokenizer> LoadTokenizer(bool argument_tags) {
  const char* path = std::getenv("GLM_FUZZ_TOKENIZER");
  auto file = glm::MappedFile::Open(path == nullptr ? "" : path);
  if (!file.ok()) {
    std::fprintf(stderr, "set GLM_FUZZ_TOKENIZER to a tokenizer.json\n");
    std::exit(2);
  }
  std::string json(reinterpret_cast<const char*>(file->bytes().data()),
                   file->bytes().size());
  if (!argument_tags) {
    json = absl::StrReplaceAll(json, {{"<arg_", "<no_"}, {"</arg_", "</no_"}});
  }
  return *Tokenizer::FromJson(json, path);
}

ChatOutputOptions OptionsOf(uint8_t flags) {
  ChatOutputOptions options;
  options.starts_inside_thinking = flags & 1;
  options.parse_tools = !(flags & 2);
  if (flags & 4) {
    options.tools = *glm::text::ToolSchemas::Create(
        {*glm::text::ParseJson(
             R"({"name": "f", "parameters": {"properties": {
             "s": {"type": "string"}, "i": {"type": "integer"},
             "o": {"type": ["object", "array", "null", "boolean"]}}}})"),
         {{"name", "fg"}}});
  }
  if (flags & 8) options.stop.push_back("stop");
  if (flags & 16) options.stop.push_back("sst");
  if (flags & 32) options.stop.push_back("\u00E9");
  options.new_id = [] { return "id"; };
  return options;
}

// A byte below 16 is a marker, one below 24 begins the id of any token, other
// bytes are text.
std::vector<int32_t> TokensOf(const Tokenizer& tokenizer,
                              std::string_view data) {
  constexpr std::string_view kMarkers[] = {
      "<think>",     "</think>",    "<tool_call>",  "</tool_call>",
      "<arg_key>",   "</arg_key>",  "<arg_value>",  "</arg_value>",
      "<|user|>",    "\n",          "\xE2\x82\xAC", "\xF0\x9F\x91\xA9",
      "<tool_call>", "<arg_value>", "</arg_value>", "<arg_key>"};
  std::vector<int32_t> ids;
  for (size_t i = 0; i < data.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(data[i]);
    if (byte < 16) {
      const auto marker = *tokenizer.Encode(kMarkers[byte], {true});
      ids.insert(ids.end(), marker.begin(), marker.end());
    } else if (byte < 24 && i + 1 < data.size()) {
      ids.push_back((byte - 16) * 256 + static_cast<uint8_t>(data[++i]));
    } else {
      ids.push_back(*tokenizer.TokenId(data.substr(i, 1)));
    }
  }
  return ids;
}

// All deltas joined, as one string that shows which is which.
std::string Read(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                 const ChatOutputOptions& options) {
  ChatOutput output = *ChatOutput::Create(tokenizer, options);
  std::string reasoning;
  std::string content;
  std::vector<std::string> calls;
  const auto add = [&](const ChatDelta& delta) {
    reasoning += delta.reasoning;
    content += delta.content;
    Check(glm::text::LossyUtf8(delta.reasoning) == delta.reasoning);
    Check(glm::text::LossyUtf8(delta.content) == delta.content);
    for (const auto& call : delta.calls) {
      Check(call.name.empty() == call.id.empty());
      if (!call.name.empty()) calls.emplace_back();
      Check(call.index + 1 == calls.size());
      calls.back() += call.arguments;
    }
    Check(output.calls() == calls.size());
  };
  for (int32_t id : ids) add(output.Push(id));
  add(output.Finish());
  Check(output.Finish().empty());
  for (const std::string& stop : options.stop) {
    Check(!calls.empty() || content.find(stop) == std::string::npos);
  }
  std::string shown = reasoning + "|" + content;
  for (const std::string& call : calls) {
    auto arguments = glm::text::ParseJson(call);
    Check(arguments.ok() && arguments->is_object());
    shown += "\n" + call;
  }
  return shown + (output.stopped() ? "!" : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Tokenizer> kTokenizers[] = {
      LoadTokenizer(true), LoadTokenizer(false)};
  if (size == 0) {
    return 0;
  }
  const Tokenizer& tokenizer = *kTokenizers[data[0] >> 7];
  const ChatOutputOptions options = OptionsOf(data[0]);
  const std::vector<int32_t> ids =
      TokensOf(tokenizer, {reinterpret_cast<const char*>(data) + 1, size - 1});
  std::vector<int32_t> bytes;
  for (int32_t id : ids) {
    if (tokenizer.IsAdded(id)) {
      bytes.push_back(id);
      continue;
    }
    for (char byte : tokenizer.TokenBytes(id)) {
      bytes.push_back(*tokenizer.TokenId({&byte, 1}));
    }
  }
  Check(Read(tokenizer, ids, options) == Read(tokenizer, bytes, options));
  return 0;
}
