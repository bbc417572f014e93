// Time of one mask over a made-up vocabulary of 154,880 tokens, for a state
// that is met for the first time and for one that is known. Nothing is
// asserted.
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "runtime/grammar/grammar_run.h"
#include "runtime/grammar/json_grammar.h"
#include "runtime/grammar/schema_compiler.h"
#include "runtime/text/tokenizer_test_files.h"

namespace glm::grammar {
namespace {

constexpr uint32_t kVocab = 154'880;

// Tokens grow out of others, as merges make them: letters mostly, with signs of
// JSON among them.
const text::Tokenizer& Tokenizer() {
  static const std::unique_ptr<text::Tokenizer> tokenizer = [] {
    std::mt19937 random(1);
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
      char raw = static_cast<char>(byte);
      int copies = raw < ' ' || raw > '~' ? 0 : 1;
      copies *= (raw >= 'a' && raw <= 'z') || raw == ' ' ? 40 : 1;
      tokens.insert(tokens.end(), copies, text::BytesToByteLevel({&raw, 1}));
    }
    nlohmann::json merged = nlohmann::json::object();
    std::vector<std::pair<std::string, std::string>> merges;
    while (merges.size() < kVocab - 256) {
      const std::string& left = tokens[random() % tokens.size()];
      const std::string& right = tokens[random() % 4000 % tokens.size()];
      std::string both = left + right;
      if (both.size() <= 24 && !merged.contains(both)) {
        merged[both] = 0;
        merges.push_back({left, right});
        tokens.push_back(std::move(both));
      }
    }
    return *text::Load(text::SmallTokenizer(merges, {}));
  }();
  return *tokenizer;
}

struct Case {
  const char* name;
  const char* schema;
  const char* text;
};

constexpr Case kCases[] = {
    {"any object: begin", R"({"type":"object"})", ""},
    {"any object: key", R"({"type":"object"})", "{\"a\":1,\"b\":[1],\""},
    {"any object: string", R"({"type":"object"})", "{\"a\":\""},
    {"any object: number", R"({"type":"object"})", "{\"a\":1"},
    {"string of 8 to 500", R"({"type":"string","minLength":8,"maxLength":500})",
     "\""},
    {"string by pattern", R"({"pattern":"^[a-z ]+(, [a-z ]+)*$"})", "\"a"},
    {"e-mail address", R"({"format":"email"})", "\"a"},
    {"array of objects",
     R"({"type":"array","items":{"anyOf":[
         {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}},
         {"type":"object","properties":{"a":{"type":"integer"},"c":{"enum":["x","y"]}}},
         {"type":"array","items":{"type":"string","maxLength":50}}]}})",
     "[{\"a\":1,"},
    {"two patterns",
     R"_({"allOf":[{"pattern":"^[\\w .-]{3,80}$"},{"pattern":"(red|green|blue)"}]})_",
     "\"a r"},
    {"date-time", R"({"format":"date-time"})", "\"2026-"},
    {"named key",
     R"({"properties":{"name":{"type":"string"},"age":{"type":"integer"},
         "tags":{"items":{"type":"string"}}},"required":["name","age"],
         "additionalProperties":false})",
     "{\""}};

std::shared_ptr<TokenConstraint> At(const Case& at) {
  static const auto vocabulary = GrammarVocabulary::Create(Tokenizer());
  auto constraint = MakeJsonConstraint(
      *JsonGrammar::FromSchema(nlohmann::ordered_json::parse(at.schema)),
      vocabulary, {.stop_ids = {0}, .vocab = kVocab});
  for (const char* c = at.text; *c != '\0'; ++c) {
    constraint->Accept(*Tokenizer().TokenId({c, 1}));
  }
  return constraint;
}

// Steps of the mask, in a machine that has seen only the text.
size_t WorkAt(const Case& at) {
  static const auto vocabulary =
      std::make_shared<const VocabularyTree>(Tokenizer());
  const Automaton automaton =
      *CompileSchema(nlohmann::ordered_json::parse(at.schema));
  SharedMachine shared(automaton, kMaxCachedMasks);
  int32_t state = shared.machine.Start(automaton.root);
  for (const char* c = at.text; *c != '\0'; ++c) {
    state = shared.machine.Step(state, static_cast<uint8_t>(*c), true);
  }
  shared.machine.BeginToken();
  shared.MaskOf(vocabulary, state);
  return shared.machine.work();
}

void First(benchmark::State& state, const Case& at) {
  std::vector<uint64_t> words((kVocab + 63) / 64);
  for (auto _ : state) {
    state.PauseTiming();
    auto constraint = At(at);
    state.ResumeTiming();
    constraint->Allow(words);
    state.PauseTiming();
    constraint.reset();
    state.ResumeTiming();
  }
  int64_t allowed = 0;
  for (uint64_t word : words) {
    allowed += __builtin_popcountll(word);
  }
  state.counters["tokens"] = static_cast<double>(allowed);
  state.counters["work"] = static_cast<double>(WorkAt(at));
}

void Known(benchmark::State& state, const Case& at) {
  auto constraint = At(at);
  std::vector<uint64_t> words((kVocab + 63) / 64);
  for (auto _ : state) {
    constraint->Allow(words);
  }
}

void Compile(benchmark::State& state, const Case& at) {
  auto schema = nlohmann::ordered_json::parse(at.schema);
  for (auto _ : state) {
    benchmark::DoNotOptimize(JsonGrammar::FromSchema(schema));
  }
}

}  // namespace
}  // namespace glm::grammar

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const auto& at : glm::grammar::kCases) {
    std::string name = at.name;
    benchmark::RegisterBenchmark(
        (name + " compile").c_str(),
        [&at](benchmark::State& state) { glm::grammar::Compile(state, at); });
    benchmark::RegisterBenchmark(
        (name + " first").c_str(),
        [&at](benchmark::State& state) { glm::grammar::First(state, at); })
        ->Iterations(50);
    benchmark::RegisterBenchmark(
        (name + " known").c_str(),
        [&at](benchmark::State& state) { glm::grammar::Known(state, at); });
  }
  benchmark::RunSpecifiedBenchmarks();
}
