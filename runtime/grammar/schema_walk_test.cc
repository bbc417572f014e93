// Random walks with nano's tokens: none meets a dead end, each text that ends
// is JSON of its schema by a validator of its own.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "runtime/grammar/json_grammar.h"
#include "runtime/grammar/schema_check_test_files.h"
#include "runtime/grammar/token_walk_test_files.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::grammar {
namespace {

constexpr const char* kSchemas[] = {
    "true",
    R"({"type":"object"})",
    R"({"type":"object","properties":{"n":{"type":"integer"}},
        "required":["n"],"additionalProperties":false})",
    R"({"type":"object","properties":{"name":{"type":"string"},
        "age":{"type":["integer","null"],"minimum":0,"maximum":150},
        "tags":{"type":"array","items":{"type":"string","minLength":1,
        "maxLength":8},"minItems":1,"maxItems":4},
        "kind":{"enum":["a","ab","abc","ä\"\\",null,1,12,1.5]}},
        "required":["name","tags"]})",
    R"({"type":"array","items":{"anyOf":[{"type":"number","minimum":-1.5,
        "exclusiveMaximum":2.25},{"type":"boolean"},{"type":"string",
        "pattern":"^[a-zé]{2,5}(-[0-9]+)?$"}]},"minItems":2})",
    R"({"$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer",
        "exclusiveMinimum":-100,"maximum":1000},"kids":{"type":"array",
        "items":{"$ref":"#/$defs/tree"}}},"required":["v","kids"],
        "additionalProperties":false}},"$ref":"#/$defs/tree"})",
    R"({"type":"object","properties":{"at":{"type":"string",
        "format":"date-time"},"id":{"type":"string","format":"uuid"},
        "mail":{"type":"string","format":"email","maxLength":20}},
        "required":["at","id","mail"],"additionalProperties":false})",
    R"({"allOf":[{"type":"object","properties":{"a":{"type":"number"}},
        "required":["a"]},{"properties":{"a":{"minimum":3},
        "b":{"type":"string","maxLength":3}},"required":["c"]}],
        "additionalProperties":{"type":"boolean"},"properties":{"c":true,
        "a":true,"b":true}})",
    R"({"type":"array","prefixItems":[{"const":"x"},{"type":"null"}],
        "items":{"type":"integer","minimum":10,"maximum":99},"maxItems":5})",
    R"({"type":"object","additionalProperties":{"type":"object",
        "additionalProperties":{"type":"integer"},"maxProperties":3},
        "minProperties":2})",
    R"({"anyOf":[{"type":"object","properties":{"t":{"const":"x"},
        "v":{"type":"integer"}},"required":["t","v"]},{"type":"object",
        "properties":{"t":{"const":"y"},"w":{"type":"string"}},
        "required":["t"],"additionalProperties":false}]})",
    R"({"type":"object","properties":{"":{"type":"null"},"\"":{},"é":{},
        "éa":{},"\n\u0001":{"type":"null"}},"additionalProperties":
        {"type":"null"},"required":["\n\u0001"]})",
    R"({"type":"string","pattern":"^\\\\{1,3}\"[\\s\\S]{0,3}$","minLength":4})",
    R"({"type":"number"})"};

TEST(SchemaWalkTest, NeverADeadEndAndAlwaysRight) {
  const text::Tokenizer& nano = text::Nano();
  int32_t stop = *nano.TokenId("<|user|>");
  auto vocabulary = GrammarVocabulary::Create(nano);
  std::mt19937 random(20261130);
  auto choose = [&](size_t n) { return random() % n; };
  for (const char* text : kSchemas) {
    TestJson schema = TestJson::parse(text);
    SchemaCheck check(schema);
    auto grammar = JsonGrammar::FromSchema(schema);
    ASSERT_TRUE(grammar.ok()) << text << grammar.status();
    for (int turn = 0; turn < 200; ++turn) {
      auto constraint = MakeJsonConstraint(
          *grammar, vocabulary,
          {.stop_ids = {stop},
           .vocab = static_cast<uint32_t>(nano.vocab_size())});
      Walk walk =
          WalkTokens(*constraint, nano, stop, random() % 40, 3000, choose);
      ASSERT_FALSE(walk.dead_end) << text << "\n" << walk.text;
      ASSERT_TRUE(walk.finished) << text << "\n" << walk.text;
      ASSERT_TRUE(IsCleanJson(walk.text)) << walk.text;
      ASSERT_TRUE((*grammar)->Matches(walk.text)) << walk.text;
      ASSERT_TRUE(check.Holds(TestJson::parse(walk.text))) << text << "\n"
                                                           << walk.text;
    }
  }
}

}  // namespace
}  // namespace glm::grammar
