#include "runtime/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "runtime/text/nano_golden_test_data.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::text {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int32_t> Ids(const Tokenizer& tokenizer, std::string_view text,
                         bool parse_added_tokens = false) {
  absl::StatusOr<std::vector<int32_t>> ids =
      tokenizer.Encode(text, {parse_added_tokens});
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.value_or(std::vector<int32_t>());
}

// The pieces of `text` as nano's pre-tokenizer cuts it.
std::vector<std::string> Pieces(std::string_view text) {
  static const json nano = json::parse(NanoTokenizerJson());
  static const std::unique_ptr<PreTokenizer> splitter = *PreTokenizer::Create(
      nano["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
          .get<std::string>());
  std::vector<std::string_view> pieces;
  EXPECT_TRUE(splitter->Split(text, pieces).ok());
  return {pieces.begin(), pieces.end()};
}

TEST(TokenizerTest, EncodesNanosPlainPromptAsTheReferenceDoes) {
  EXPECT_EQ(Ids(Nano(), "Once upon a time there was a"),
            NanoGoldens()[7].prompt);
}

TEST(TokenizerTest, KnowsIdsBytesAndFlags) {
  EXPECT_EQ(Nano().vocab_size(), 2044);
  EXPECT_EQ(Nano().TokenId("<think>"), 2030);
  EXPECT_EQ(Nano().TokenBytes(2030), "<think>");
  EXPECT_EQ(Nano().TokenBytes(*Nano().TokenId(" the")), " the");
  EXPECT_EQ(Nano().TokenId("no such token"), std::nullopt);
  EXPECT_TRUE(Nano().IsSpecial(2008));
  EXPECT_FALSE(Nano().IsAdded(2007));
  for (int32_t id : {-1, 2044, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(Nano().TokenBytes(id), "");
    EXPECT_FALSE(Nano().IsSpecial(id));
  }
}

TEST(TokenizerTest, AddedTokensMatchWhetherSpecialOrNot) {
  auto tokenizer = *Load(SmallTokenizer({}, {{"<s>", true}, {"<t>", false}}));
  EXPECT_THAT(Ids(*tokenizer, "a<s>b<t>", true),
              ElementsAre('a', 256, 'b', 257));
  EXPECT_THAT(Ids(*tokenizer, "<s><t>", false),
              ElementsAre('<', 's', '>', '<', 't', '>'));
}

TEST(TokenizerTest, TheLeftmostThenLongestAddedTokenWins) {
  auto tokenizer =
      *Load(SmallTokenizer({}, {{"ab", true}, {"abcd", true}, {"bcde", true}}));
  EXPECT_THAT(Ids(*tokenizer, "abcde", true), ElementsAre(257, 'e'));
  EXPECT_THAT(Ids(*tokenizer, "abc", true), ElementsAre(256, 'c'));
}

TEST(TokenizerTest, NormalizedAddedTokensMatchAfterNormalization) {
  json file = SmallTokenizer({}, {{"\u00e9!", false}});
  file["normalizer"] = {{"type", "NFC"}};
  file["added_tokens"][0]["normalized"] = true;
  EXPECT_THAT(Ids(**Load(file), "e\u0301!", true), ElementsAre(256));
  file["added_tokens"][0]["normalized"] = false;
  EXPECT_THAT(Ids(**Load(file), "e\u0301!", true),
              ElementsAre(0xC3, 0xA9, '!'));
}

TEST(TokenizerTest, SpansWithoutTrustNeverYieldAddedTokens) {
  auto tokenizer =
      *Load(SmallTokenizer({{"<", "("}, {"b", "b"}}, {{"<(>", true}}));
  // Also when a border lies inside the token, or beside it.
  EXPECT_THAT(*tokenizer->EncodeSpans({{"<", true}, {"(>", false}}),
              ElementsAre(256, '>'));
  EXPECT_THAT(
      *tokenizer->EncodeSpans({{"<(>b", true}, {"b<(>", false}, {"<(>", true}}),
      ElementsAre(258, 257, 256, '>', 258));
}

TEST(TokenizerTest, MergesByRankThenFromTheLeft) {
  auto tokenizer =
      *Load(SmallTokenizer({{"b", "c"}, {"a", "b"}, {"a", "a"}}, {}));
  EXPECT_THAT(Ids(*tokenizer, "abc"), ElementsAre('a', 256));
  EXPECT_THAT(Ids(*tokenizer, "aaa"), ElementsAre(258, 'a'));
}

TEST(TokenizerTest, IgnoreMergesTakesAWholePieceFromTheVocabulary) {
  json file = SmallTokenizer({{"a", "b"}, {"c", "d"}}, {});
  file["model"]["vocab"]["xyz"] = 258;
  EXPECT_THAT(Ids(**Load(file), "xyz"), ElementsAre('x', 'y', 'z'));
  file["model"]["ignore_merges"] = true;
  EXPECT_THAT(Ids(**Load(file), "xyz"), ElementsAre(258));
  EXPECT_THAT(Ids(**Load(file), "xyza"), ElementsAre('x', 'y', 'z', 'a'));
}

TEST(TokenizerTest, ReadsMergesWrittenAsStrings) {
  json file = SmallTokenizer({{"a", "b"}}, {});
  file["model"]["merges"] = {"a b"};
  EXPECT_THAT(Ids(**Load(file), "ab"), ElementsAre(256));
}

TEST(TokenizerTest, ShortAndLongPiecesMergeAlike) {
  std::string text = "abcabcbaacbbbccaab";
  auto tokenizer = *Load(SmallTokenizer(
      {{"b", "c"}, {"a", "bc"}, {"c", "c"}, {"a", "a"}, {"bc", "b"}}, {}));
  std::vector<int32_t> expected;
  std::string repeated;
  // No merge crosses the space before the text, so repetition adds up.
  for (int i = 0; i < 10; ++i) {
    for (int32_t id : Ids(*tokenizer, text + "zzz")) {
      expected.push_back(id);
    }
    repeated += text + "zzz";
  }
  EXPECT_EQ(Ids(*tokenizer, repeated), expected);
}

TEST(TokenizerTest, SplitsAsThePatternSays) {
  EXPECT_THAT(Pieces("I'll don't"), ElementsAre("I", "'ll", " don", "'t"));
  EXPECT_THAT(Pieces("x'\u017Fy"), ElementsAre("x", "'\u017F", "y"));
  EXPECT_THAT(Pieces("12345"), ElementsAre("123", "45"));
  EXPECT_THAT(Pieces("a  b\n\n c"), ElementsAre("a", " ", " b", "\n\n", " c"));
  EXPECT_THAT(Pieces("\u00A0x"), ElementsAre("\u00A0x"));
  EXPECT_THAT(Pieces("}}\n{"), ElementsAre("}}\n", "{"));
}

TEST(TokenizerTest, SpacesAreThoseOfUnicode) {
  // U+0085 is a space and U+180E is none; PCRE2's own \s takes both.
  EXPECT_THAT(Pieces("1\u0085\u0085"), ElementsAre("1", "\u0085\u0085"));
  EXPECT_THAT(Pieces("1 \u180E"), ElementsAre("1", " \u180E"));
}

TEST(TokenizerTest, KnowsLettersAndNumbersNewerThanPcre) {
  EXPECT_THAT(Pieces("\U0002EBF0\U000323AF1"),
              ElementsAre("\U0002EBF0\U000323AF", "1"));
  EXPECT_THAT(Pieces("a\u1C8A"), ElementsAre("a\u1C8A"));
  EXPECT_THAT(Pieces("!\U00010D40"), ElementsAre("!", "\U00010D40"));
}

TEST(TokenizerTest, ComposesToNfc) {
  json file = SmallTokenizer({}, {});
  file["normalizer"] = {{"type", "NFC"}};
  auto tokenizer = *Load(file);
  EXPECT_THAT(Ids(*tokenizer, "e\u0301"), ElementsAre(0xC3, 0xA9));
  EXPECT_EQ(Ids(*tokenizer, "\u1100\u1161\u11A8"), Ids(*tokenizer, "\uAC01"));
  // Marks are put into canonical order first.
  EXPECT_EQ(Ids(*tokenizer, "a\u0315\u0300\u05AE\u0062"),
            Ids(*tokenizer, "\u00E0\u05AE\u0315\u0062"));
}

TEST(TokenizerTest, InvalidBytesAreReadAsReplacementCharacters) {
  EXPECT_EQ(Ids(Nano(), "a\xFFz\xE4\xB8z\xED\xA0\x80"),
            Ids(Nano(), "a\uFFFDz\uFFFDz\uFFFD\uFFFD\uFFFD"));
}

TEST(TokenizerTest, LongPiecesTakeNearLinearTime) {
  json file = SmallTokenizer({{"a", "a"}, {"aa", "aa"}}, {});
  file["normalizer"] = {{"type", "NFC"}};
  auto tokenizer = *Load(file);
  std::string marks = "e";
  for (int i = 0; i < 200'000; ++i) {
    marks += "\u0315\u0300";
  }
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Ids(*tokenizer, std::string(1'000'000, 'a')).size(), 250'000);
  EXPECT_EQ(Ids(*tokenizer, std::string(1'000'000, ' ')).size(), 1'000'000);
  EXPECT_GT(Ids(*tokenizer, marks).size(), 700'000);
  // A quadratic step would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

// Of the longest token, added ones too; NFC shortens text four times at most.
TEST(TokenizerTest, KnowsTheLeastIdsOfSoManyBytes) {
  json file = SmallTokenizer({{"a", "b"}}, {{"<long>", true}});
  const auto least = [&file](size_t bytes) {
    return (*Load(file))->LeastIds(bytes);
  };
  EXPECT_EQ(least(0), 0);
  EXPECT_EQ(least(1), 1);
  EXPECT_EQ(least(6), 1);
  EXPECT_EQ(least(7), 2);
  file["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(least(24), 1);
  EXPECT_EQ(least(25), 2);
  // The text that NFC shortens most.
  const std::string marks = "\u1FBE\u0308\u0301";
  EXPECT_LE(least(marks.size()), Ids(**Load(file), marks).size());
}

TEST(TokenizerTest, EncodesNoMoreThanTheMostIds) {
  const std::string text = "Once upon a time <|user|> there was 1234567, a b c";
  for (const bool parse : {false, true}) {
    const std::vector<int32_t> whole = Ids(Nano(), text, parse);
    for (size_t most = 0; most < whole.size() + 3; ++most) {
      const auto ids = *Nano().Encode(text, {parse, most});
      if (whole.size() <= most) {
        EXPECT_EQ(ids, whole);
      } else {
        EXPECT_GT(ids.size(), most);
      }
    }
  }
}

TEST(TokenizerTest, DoesNotMergeAPieceThatCannotFit) {
  auto tokenizer = *Load(SmallTokenizer({{"a", "a"}, {"aa", "aa"}}, {}));
  // Merged, 500.
  EXPECT_EQ(tokenizer->Encode(std::string(2000, 'a'), {.most_ids = 99})->size(),
            100);
  EXPECT_EQ(tokenizer->Encode("a " + std::string(400, 'a'), {.most_ids = 101})
                ->size(),
            102);
  EXPECT_EQ(
      tokenizer->Encode("a" + std::string(400, 'a'), {.most_ids = 101})->size(),
      101);
  EXPECT_EQ(
      tokenizer->Encode(std::string(30 << 20, 'a'), {.most_ids = 99})->size(),
      100);
}

TEST(TokenizerTest, RefusesAPieceThatWouldTakeTooLong) {
  auto tokenizer = *Load(SmallTokenizer({{"a", "a"}, {"aa", "aa"}}, {}));
  const std::string most(kMostPieceBytes, 'a');
  EXPECT_EQ(tokenizer->Encode(most, {.most_ids = 1 << 20})->size(),
            kMostPieceBytes / 4);
  const absl::Status status =
      tokenizer->Encode(most + "a", {.most_ids = 1 << 20}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1048577 bytes without a place to split"));
  EXPECT_TRUE(tokenizer->Encode(most + "a", {}).ok());
}

TEST(TokenizerTest, MayBeUsedFromSeveralThreads) {
  std::string text = "The capital of France is 東京 \U0002EBF0 123456.";
  std::vector<int32_t> expected = Ids(Nano(), text);
  std::vector<std::thread> threads;
  std::vector<int> equal(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        equal[t] += *Nano().Encode(text, {}) == expected;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(equal, ElementsAre(200, 200, 200, 200));
}

struct Refusal {
  const char* what;  // must appear in the message
  std::function<void(json&)> change;
};

TEST(TokenizerTest, RefusesWhatItDoesNotImplementByName) {
  const std::vector<Refusal> refusals = {
      {"'Unigram'", [](json& j) { j["model"]["type"] = "Unigram"; }},
      {"byte_fallback", [](json& j) { j["model"]["byte_fallback"] = true; }},
      {"dropout", [](json& j) { j["model"]["dropout"] = 0.1; }},
      {"unk_token", [](json& j) { j["model"]["unk_token"] = "?"; }},
      {"'NFKC'", [](json& j) { j["normalizer"] = {{"type", "NFKC"}}; }},
      {"'Metaspace'",
       [](json& j) { j["pre_tokenizer"] = {{"type", "Metaspace"}}; }},
      {"add_prefix_space",
       [](json& j) { j["pre_tokenizer"]["add_prefix_space"] = true; }},
      {"'TemplateProcessing'",
       [](json& j) { j["post_processor"] = {{"type", "TemplateProcessing"}}; }},
      {"'WordPiece'", [](json& j) { j["decoder"] = {{"type", "WordPiece"}}; }},
      {"lstrip", [](json& j) { j["added_tokens"][0]["lstrip"] = true; }},
      {"single_word",
       [](json& j) { j["added_tokens"][0]["single_word"] = true; }},
  };
  for (const Refusal& refusal : refusals) {
    json file = SmallTokenizer({{"a", "b"}}, {{"<s>", true}});
    refusal.change(file);
    absl::Status status = Load(file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refusal.what));
    EXPECT_THAT(std::string(status.message()), HasSubstr("small.json: "));
  }
}

TEST(TokenizerTest, RefusesContradictionsWithFileNameAndRemedy) {
  const std::vector<Refusal> refusals = {
      {"no model", [](json& j) { j.erase("model"); }},
      {"0 to 257", [](json& j) { j["model"]["vocab"]["ab"] = 4'000'000'000; }},
      {"0 to 257", [](json& j) { j["model"]["vocab"]["ab"] = -1; }},
      {"0 to 257", [](json& j) { j["model"]["vocab"]["ab"] = "x"; }},
      {"used by another", [](json& j) { j["model"]["vocab"]["ab"] = 5; }},
      {"byte 120",
       [](json& j) {
         j["model"]["vocab"].erase("x");
         j["model"]["vocab"]["xx"] = 120;
       }},
      {"outside the byte-level alphabet",
       [](json& j) {
         j["model"]["vocab"].erase("ab");
         j["model"]["vocab"]["\u6771"] = 256;
       }},
      {"'zq'", [](json& j) { j["model"]["merges"].push_back({"z", "q"}); }},
      {"repeats", [](json& j) { j["model"]["merges"].push_back({"a", "b"}); }},
      {"merges[1]", [](json& j) { j["model"]["merges"].push_back("abc"); }},
      {"merges[1]", [](json& j) { j["model"]["merges"].push_back({"a"}); }},
      {"repeats an id",
       [](json& j) {
         j["added_tokens"].push_back(j["added_tokens"][0]);
         j["added_tokens"][1]["content"] = "<t>";
       }},
      {"0 bytes", [](json& j) { j["added_tokens"][0]["content"] = ""; }},
      {"added_tokens[0]",
       [](json& j) { j["added_tokens"][0]["id"] = 4'000'000'000; }},
      {"without token", [](json& j) { j["added_tokens"][0]["id"] = 300; }},
      {"another id", [](json& j) { j["added_tokens"][0]["content"] = "ab"; }},
  };
  for (const Refusal& refusal : refusals) {
    json file = SmallTokenizer({{"a", "b"}}, {{"<s>", true}});
    refusal.change(file);
    absl::Status status = Load(file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refusal.what));
    EXPECT_THAT(std::string(status.message()), HasSubstr("small.json: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("; use the "));
  }
}

TEST(TokenizerTest, RefusesFilesCutShort) {
  std::string whole = SmallTokenizer({{"a", "b"}}, {{"<s>", true}}).dump();
  for (size_t size : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_FALSE(Tokenizer::FromJson(whole.substr(0, size), "f").ok());
  }
  EXPECT_FALSE(Tokenizer::FromJson(std::string(1'000'000, '['), "f").ok());
}

TEST(TokenizerTest, RefusesRegexesThatWouldMeanSomethingElse) {
  for (const char* pattern :
       {R"(\d+)",        R"(\w)",          R"(\bx)",     R"(\h)",
        R"(\R)",         R"((?m:a))",      R"(^a)",      R"(a$)",
        R"([a-z&&[b]])", R"([[:alpha:]])", R"(\p{Han})", R"([\P{L}])",
        R"(a{,3})",      R"(a{2}+)",       R"(a{2}?)",   R"((*FAIL))",
        R"([\s-x])",     R"(\1)",          R"([a)",      "\\",
        R"(\pL)"}) {
    EXPECT_EQ(PreTokenizer::Create(pattern).status().code(),
              absl::StatusCode::kUnimplemented)
        << pattern;
  }
  EXPECT_EQ(PreTokenizer::Create("(a").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TokenizerTest, ARegexThatExplodesIsAnError) {
  std::unique_ptr<PreTokenizer> splitter =
      *PreTokenizer::Create(R"((?:a|aa)*[bc])");
  std::vector<std::string_view> pieces;
  EXPECT_EQ(splitter->Split(std::string(60, 'a'), pieces).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(TokenizerTest, TextBetweenMatchesIsAPiece) {
  std::unique_ptr<PreTokenizer> splitter = *PreTokenizer::Create("x*");
  std::vector<std::string_view> pieces;
  ASSERT_TRUE(splitter->Split("abxxc", pieces).ok());
  std::string all;
  for (std::string_view piece : pieces) {
    EXPECT_FALSE(piece.empty());
    all += piece;
  }
  EXPECT_EQ(all, "abxxc");
  EXPECT_THAT(pieces, testing::Contains("xx"));
}

}  // namespace
}  // namespace glm::text
