#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "runtime/grammar/json_grammar.h"
#include "runtime/grammar/token_walk_test_files.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::grammar {
namespace {

using ::nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const text::Tokenizer& Nano() { return text::Nano(); }
int32_t Id(std::string_view bytes) { return *Nano().TokenId(bytes); }
uint32_t Vocab() { return static_cast<uint32_t>(Nano().vocab_size()); }

const std::shared_ptr<const GrammarVocabulary>& Vocabulary() {
  static const auto vocabulary = GrammarVocabulary::Create(Nano());
  return vocabulary;
}

std::shared_ptr<TokenConstraint> Constraint(std::string_view schema,
                                            JsonConstraintOptions options) {
  options.vocab = Vocab();
  return MakeJsonConstraint(
      *JsonGrammar::FromSchema(ordered_json::parse(schema)), Vocabulary(),
      std::move(options));
}

void AcceptText(TokenConstraint& constraint, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    constraint.Accept(Id(text.substr(i, 1)));
  }
}

constexpr const char* kNumber =
    R"({"type":"object","properties":{"n":{"type":"integer"}},
        "required":["n"],"additionalProperties":false})";

TEST(JsonConstraintTest, ThinksFirstAndAnswersThen) {
  int32_t close = Id("</think>");
  int32_t stop = Id("<|user|>");
  int32_t tool = Id("<tool_call>");
  auto constraint = Constraint(kNumber, {.stop_ids = {stop},
                                         .starts_inside_thinking = true,
                                         .think_close = close,
                                         .not_while_thinking = {tool}});
  for (int i = 0; i < 20; ++i) {
    auto allowed = Allowed(*constraint, Vocab());
    EXPECT_EQ(allowed.size(), Vocab() - 2);
    EXPECT_THAT(allowed, Contains(close));
    EXPECT_THAT(allowed, Not(Contains(stop)));
    EXPECT_THAT(allowed, Not(Contains(tool)));
    constraint->Accept(Id(" the"));
  }
  constraint->Accept(close);
  auto allowed = Allowed(*constraint, Vocab());
  EXPECT_THAT(allowed, Contains(Id("{")));
  EXPECT_THAT(allowed, Not(Contains(Id("a"))));
  EXPECT_THAT(allowed, Not(Contains(close)));
  AcceptText(*constraint, "{\"n\":12");
  EXPECT_THAT(Allowed(*constraint, Vocab()), Not(Contains(stop)));
  AcceptText(*constraint, "}");
  EXPECT_THAT(Allowed(*constraint, Vocab()), ElementsAre(stop));
  constraint->Accept(stop);
  EXPECT_THAT(Allowed(*constraint, Vocab()), ElementsAre(stop));
}

TEST(JsonConstraintTest, AllTokensMayBeThought) {
  auto constraint =
      Constraint(kNumber, {.starts_inside_thinking = true, .think_close = 5});
  std::vector<uint64_t> words((Vocab() + 63) / 64, 0x123);
  EXPECT_FALSE(constraint->Allow(words));
  EXPECT_THAT(words, testing::Each(0x123));
  constraint->Accept(5);
  EXPECT_TRUE(constraint->Allow(words));
}

TEST(JsonConstraintTest, BeginsAtOnceWithoutThinking) {
  auto constraint =
      Constraint(kNumber, {.stop_ids = {1}, .think_close = Id("</think>")});
  EXPECT_THAT(Allowed(*constraint, Vocab()), Not(Contains(Id("a"))));
}

TEST(JsonConstraintTest, StopsOrGoesOnWhereBothAreRight) {
  int32_t stop = Id("<|user|>");
  auto constraint = Constraint(R"({"type":"integer"})", {.stop_ids = {stop}});
  EXPECT_THAT(Allowed(*constraint, Vocab()), Not(Contains(stop)));
  AcceptText(*constraint, "1");
  EXPECT_THAT(Allowed(*constraint, Vocab()), Contains(stop));
  EXPECT_THAT(Allowed(*constraint, Vocab()), Contains(Id("2")));
}

TEST(JsonConstraintTest, NoAddedTokenInsideStrings) {
  auto constraint = Constraint(R"({"type":"string"})", {.stop_ids = {1}});
  AcceptText(*constraint, "\"");
  for (int32_t id : Allowed(*constraint, Vocab())) {
    EXPECT_FALSE(Nano().IsAdded(id)) << id;
  }
}

// What is not complete never looks as if it were.
TEST(JsonConstraintTest, FailsAfterATokenThatWasNotAllowed) {
  for (int32_t wrong : {Id("a"), Id("<|system|>"), -1, INT32_MAX, 1}) {
    auto constraint = Constraint(kNumber, {.stop_ids = {1}});
    EXPECT_TRUE(constraint->status().ok());
    constraint->Accept(wrong);
    EXPECT_THAT(Allowed(*constraint, Vocab()), IsEmpty());
    EXPECT_EQ(constraint->status().code(), absl::StatusCode::kAborted);
  }
}

TEST(JsonConstraintTest, FailsWhereTheVocabularyCannotGoOn) {
  auto tokenizer = *text::Load(text::SmallTokenizer({}, {{"<stop>", true}}));
  auto vocabulary = GrammarVocabulary::Create(*tokenizer);
  // The model's vocabulary ends before the bytes that must come.
  auto constraint =
      MakeJsonConstraint(*JsonGrammar::FromSchema({{"const", "x"}}), vocabulary,
                         {.stop_ids = {10}, .vocab = 'x'});
  constraint->Accept('"');
  EXPECT_THAT(Allowed(*constraint, 'x'), IsEmpty());
  EXPECT_EQ(constraint->status().code(), absl::StatusCode::kAborted);
}

// The work of a token is counted, so that the step of the engine that waits for
// it is short; a text that needs more fails, rather than to be cut.
TEST(JsonConstraintTest, TheWorkOfATokenIsBounded) {
  auto grammar = *JsonGrammar::FromSchema(
      {{"type", "string"}, {"pattern", CostlyPattern()}});
  const std::string text = ManyLetters(200);
  for (int turn = 0; turn < 2; ++turn) {  // the second meets what is known
    auto constraint =
        MakeJsonConstraint(grammar, Vocabulary(),
                           {.stop_ids = {Id("<|user|>")}, .vocab = Vocab()});
    size_t at = 0;
    for (std::string next = "\""; constraint->status().ok(); ++at) {
      auto allowed = Allowed(*constraint, Vocab());
      if (!constraint->status().ok()) {
        EXPECT_THAT(allowed, IsEmpty());
        break;
      }
      ASSERT_LT(at, text.size());
      ASSERT_THAT(allowed, Contains(Id(next)));
      constraint->Accept(Id(next));
      ASSERT_TRUE(constraint->status().ok()) << constraint->status();
      next = text.substr(at, 1);
    }
    EXPECT_GT(at, 10u);
    EXPECT_EQ(constraint->status().code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(constraint->status().message()),
                HasSubstr("takes more than 4000000 steps for one token"));
    constraint->Accept(Id("a"));
    EXPECT_THAT(Allowed(*constraint, Vocab()), IsEmpty());
    EXPECT_THAT(std::string(constraint->status().message()),
                HasSubstr("takes more than"));
  }
  // Bytes alone are little work.
  EXPECT_TRUE(grammar->Matches("\"" + ManyLetters(600) + "\""));
}

// A text of tokens of one byte leaves a full machine behind as others do: what
// is not known is forbidden in it.
TEST(JsonConstraintTest, LongTextsOfManyStatesStayFree) {
  auto grammar = *JsonGrammar::FromSchema(
      {{"type", "string"}, {"pattern", "^.*[a-m].{200}$"}});
  auto constraint = MakeJsonConstraint(
      grammar, Vocabulary(), {.stop_ids = {Id("<|user|>")}, .vocab = Vocab()});
  constraint->Accept(Id("\""));
  for (char letter : ManyLetters(1000)) {
    ASSERT_THAT(Allowed(*constraint, Vocab()), Contains(Id(" the")));
    constraint->Accept(Id({&letter, 1}));
  }
}

TEST(JsonConstraintTest, TheShortestTextIsKnown) {
  auto least = [](std::string_view schema) {
    return (*JsonGrammar::FromSchema(ordered_json::parse(schema)))
        ->LeastBytes();
  };
  EXPECT_EQ(least(R"({"type":"integer"})"), 1u);
  EXPECT_EQ(least(R"({"type":"string","minLength":7})"), 9u);
  EXPECT_EQ(least(R"({"type":"array","items":{"enum":["ab","c"]},
                     "minItems":3})"),
            2u + 3 * 3 + 2);
  EXPECT_EQ(least(kNumber), 7u);
  EXPECT_EQ(least(R"({"$ref":"#/$defs/a","$defs":{"a":{"type":["null","array"],
                     "items":{"$ref":"#/$defs/a"},"minItems":1}}})"),
            4u);
  EXPECT_GT(least(R"({"type":"array","minItems":1000000000,
                     "items":{"type":"array","minItems":1000000000}})"),
            1'000'000'000'000'000'000u);
}

// A token is allowed exactly where its bytes are, one after the other: keys
// come once, whichever tokens they are cut into.
TEST(JsonConstraintTest, KeysComeOnceWhateverTheTokens) {
  auto tokenizer = *text::Load(text::SmallTokenizer({{"\"", "a"},
                                                     {"\"a", "\""},
                                                     {",", "\"a\""},
                                                     {"a", "\""},
                                                     {"\"", ":"},
                                                     {"a\"", ":"},
                                                     {"}", ","},
                                                     {"},", "\"a\""},
                                                     {"1", ","},
                                                     {"1,", "\"a\""},
                                                     {"\"a\"", ":"},
                                                     {"\"a\":", "1,\"a\""}},
                                                    {{"<stop>", true}}));
  auto vocab = static_cast<uint32_t>(tokenizer->vocab_size());
  auto vocabulary = GrammarVocabulary::Create(*tokenizer);
  auto grammar = JsonGrammar::AnyObject();
  auto after = [&](const std::string& text) {
    auto constraint = MakeJsonConstraint(
        grammar, vocabulary,
        {.stop_ids = {*tokenizer->TokenId("<stop>")}, .vocab = vocab});
    for (char c : text) {
      constraint->Accept(*tokenizer->TokenId({&c, 1}));
    }
    return Allowed(*constraint, vocab);
  };
  int refused = 0;
  for (std::string begin :
       {"{", "{\"a\":1", "{\"a\":1,", "{\"a\":1,\"", "{\"a\":1,\"a",
        "{\"b\":1,\"a", "{\"a\":{\"b\":1", "{\"b\":{\"a\":1",
        "{\"a\":{\"b\":{}", "{\"b\":[{\"a\":1}", "{\"aa\":1,\"a",
        "{\"a\":{\"a\":[{", "{\"a\":{}"}) {
    auto allowed = after(begin);
    for (int32_t id = 0; id < static_cast<int32_t>(vocab) - 1; ++id) {
      std::string text = begin;
      bool right = true;
      for (char c : tokenizer->TokenBytes(id)) {
        int32_t byte = *tokenizer->TokenId({&c, 1});
        right = right && testing::Value(after(text), Contains(byte));
        text += c;
      }
      EXPECT_EQ(testing::Value(allowed, Contains(id)), right)
          << begin << " then " << tokenizer->TokenBytes(id);
      refused += right ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_THAT(after("{\"a\":1,\"a"), Not(Contains('"')));
  EXPECT_THAT(after("{\"a\":1,\"a"), Contains('a'));
  EXPECT_THAT(after("{\"a\":1,\"ab"), Contains('"'));
}

TEST(JsonConstraintTest, CountsAreExactThoughMasksAreShared) {
  auto grammar = *JsonGrammar::FromSchema(
      ordered_json::parse(R"({"type":"string","maxLength":200})"));
  int32_t stop = Id("<|user|>");
  auto constraint = MakeJsonConstraint(grammar, Vocabulary(),
                                       {.stop_ids = {stop}, .vocab = Vocab()});
  AcceptText(*constraint, "\"");
  for (int left = 200; left >= 0; --left) {
    for (int32_t id : Allowed(*constraint, Vocab())) {
      std::string_view bytes = Nano().TokenBytes(id);
      if (bytes.find_first_of("\"\\") == bytes.npos) {
        int characters = static_cast<int>(
            std::count_if(bytes.begin(), bytes.end(),
                          [](char c) { return (c & 0xC0) != 0x80; }));
        ASSERT_LE(characters, left) << bytes;
      }
    }
    constraint->Accept(left > 0 ? Id("x") : Id("\""));
  }
  EXPECT_THAT(Allowed(*constraint, Vocab()), ElementsAre(stop));
}

TEST(JsonConstraintTest, SequencesShareAGrammarFromManyThreads) {
  auto grammar = JsonGrammar::AnyObject();
  int32_t stop = Id("<|user|>");
  std::vector<std::thread> threads;
  std::vector<int> finished(4, 0);
  for (size_t t = 0; t < finished.size(); ++t) {
    threads.emplace_back([&, t] {
      uint32_t state = static_cast<uint32_t>(t) * 77 + 1;
      auto choose = [&](size_t n) {
        state = state * 1664525 + 1013904223;
        return (state >> 8) % n;
      };
      for (int turn = 0; turn < 20; ++turn) {
        auto constraint = MakeJsonConstraint(
            grammar, Vocabulary(), {.stop_ids = {stop}, .vocab = Vocab()});
        Walk walk = WalkTokens(*constraint, Nano(), stop, 20, 2000, choose);
        finished[t] += walk.finished && grammar->Matches(walk.text) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(finished, testing::Each(20));
}

}  // namespace
}  // namespace glm::grammar
