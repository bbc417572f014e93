// Schemas, as text or made of the bytes, and a walk over nano's tokens through
// what each allows. The path of tokenizer.json comes from the environment:
// GLM_FUZZ_TOKENIZER.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/grammar/json_grammar.h"
#include "runtime/grammar/token_walk_test_files.h"
#include "runtime/text/fuzz_tokenizer_test_files.h"
#include "runtime/text/tokenizer.h"

namespace {

using glm::text::Tokenizer;
using Json = nlohmann::ordered_json;

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  size_t Below(size_t n) {
    if (bytes_.empty()) {
      return 0;
    }
    auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte * n / 256;
  }
  bool done() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

constexpr const char* kNames[] = {"", "a", "ab", "b", "\"", "\xC3\xA9"};
constexpr const char* kTypes[] = {"null",   "boolean", "integer", "number",
                                  "string", "array",   "object"};
constexpr const char* kPatterns[] = {"^[a-c]{2,4}$", "b|^a\"", ".\\\\",
                                     "^(x|yy)*z?$",  "\\d+$",  "^[^\\n]$",
                                     "(a|b).{6}$"};
constexpr const char* kFormats[] = {"date", "date-time", "email", "uuid"};

Json Make(Bytes& bytes, int depth) {
  Json schema = Json::object();
  for (size_t n = bytes.Below(5); n > 0 && !bytes.done(); --n) {
    switch (bytes.Below(depth > 4 ? 9 : 18)) {
      case 0:
        schema["type"] = kTypes[bytes.Below(7)];
        break;
      case 1:
        schema["type"] = {kTypes[bytes.Below(7)], kTypes[bytes.Below(7)]};
        break;
      case 2:
        schema["minimum"] = static_cast<int>(bytes.Below(256)) - 100;
        break;
      case 3:
        schema["exclusiveMaximum"] =
            static_cast<double>(bytes.Below(256)) / 8.0 - 3.0;
        break;
      case 4:
        schema["maxLength"] = bytes.Below(12);
        break;
      case 5:
        schema["pattern"] = kPatterns[bytes.Below(7)];
        break;
      case 6:
        schema["format"] = kFormats[bytes.Below(4)];
        break;
      case 7:
        schema["enum"].push_back(kNames[bytes.Below(6)]);
        break;
      case 8:
        schema["$ref"] = bytes.Below(2) != 0 ? "#" : "#/$defs/a";
        break;
      case 9:
        schema["items"] = Make(bytes, depth + 1);
        break;
      case 10:
        schema["prefixItems"].push_back(Make(bytes, depth + 1));
        break;
      case 11:
        schema[bytes.Below(2) != 0 ? "maxItems" : "minItems"] = bytes.Below(6);
        break;
      case 12:
      case 13:
        schema["properties"][kNames[bytes.Below(6)]] = Make(bytes, depth + 1);
        break;
      case 14:
        schema["required"].push_back(kNames[bytes.Below(6)]);
        break;
      case 15:
        schema["additionalProperties"] =
            bytes.Below(2) != 0 ? Json(false) : Make(bytes, depth + 1);
        break;
      case 16:
        schema["anyOf"].push_back(Make(bytes, depth + 1));
        break;
      case 17:
        schema["allOf"].push_back(Make(bytes, depth + 1));
        break;
    }
  }
  if (depth == 0) {
    schema["$defs"]["a"] = Make(bytes, 1);
  }
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using glm::grammar::GrammarVocabulary;
  using glm::grammar::JsonGrammar;
  static const std::unique_ptr<Tokenizer> tokenizer =
      glm::text::FuzzTokenizer();
  static const auto vocabulary = GrammarVocabulary::Create(*tokenizer);
  std::string_view input(reinterpret_cast<const char*>(data), size);
  size_t cut = input.find('\n');
  cut = cut == input.npos ? size : cut;
  Bytes choices(input.substr(cut));
  Json schema = Json::parse(input.substr(0, cut), nullptr, false);
  if (schema.is_discarded()) {
    Bytes bytes(input.substr(0, cut));
    schema = Make(bytes, 0);
  }
  auto grammar = JsonGrammar::FromSchema(schema);
  if (!grammar.ok()) {
    Check(!grammar.status().message().empty());
    return 0;
  }
  int32_t stop = *tokenizer->TokenId("<|user|>");
  auto constraint = glm::grammar::MakeJsonConstraint(
      *grammar, vocabulary,
      {.stop_ids = {stop},
       .vocab = static_cast<uint32_t>(tokenizer->vocab_size())});
  auto choose = [&](size_t n) {
    return (choices.Below(256) * 251 + choices.Below(256)) % n;
  };
  glm::grammar::Walk walk =
      glm::grammar::WalkTokens(*constraint, *tokenizer, stop, 24, 64, choose);
  Check(!walk.dead_end);
  if (walk.finished) {
    Check(!Json::parse(walk.text, nullptr, false).is_discarded());
    Check((*grammar)->Matches(walk.text));
  }
  return 0;
}
