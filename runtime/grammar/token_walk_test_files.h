// Walks through what a constraint allows, as a model of no sense would.
#ifndef GLM_RUNTIME_GRAMMAR_TOKEN_WALK_TEST_FILES_H_
#define GLM_RUNTIME_GRAMMAR_TOKEN_WALK_TEST_FILES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sequence/token_constraint.h"
#include "runtime/text/tokenizer.h"

namespace glm::grammar {

inline std::vector<int32_t> Allowed(TokenConstraint& constraint,
                                    uint32_t vocab) {
  std::vector<uint64_t> words((vocab + 63) / 64, 0);
  std::vector<int32_t> ids;
  bool some = constraint.Allow(words);
  for (uint32_t id = 0; id < vocab; ++id) {
    if (!some || (words[id / 64] >> (id % 64) & 1) != 0) {
      ids.push_back(static_cast<int32_t>(id));
    }
  }
  return ids;
}

// A pattern that is read in hundreds of ways at once, each letter of its texts
// making others of them: within 100 letters of all kinds a token's mask takes
// more work than is allowed.
inline std::string CostlyPattern() {
  std::string pattern = "^(";
  for (std::string_view letters :
       {"a-m", "aeiou", "e-t", "acegikmoqsuwy", "nrst ", "o-z"}) {
    pattern += pattern.size() > 2 ? "|" : "";
    pattern += ".*[" + std::string(letters) + "].{150}";
  }
  return pattern + ")$";
}

// Any letters, the same ones each time.
inline std::string ManyLetters(size_t count) {
  std::string text;
  for (uint32_t state = 1; text.size() < count;) {
    state = state * 1664525 + 1013904223;
    text += "etaoinshr dlu"[(state >> 16) % 13];
  }
  return text;
}

struct Walk {
  std::string text;
  bool dead_end = false;
  bool finished = false;
};

// `free` tokens by `choose` (of n, an index), then mostly what ends soonest.
inline Walk WalkTokens(TokenConstraint& constraint,
                       const text::Tokenizer& tokenizer, int32_t stop,
                       size_t free, size_t most,
                       const std::function<size_t(size_t)>& choose) {
  static constexpr std::string_view kEnding = "\"\\}]0123456789ntf-:,{[";
  Walk walk;
  for (size_t step = 0; step < most; ++step) {
    std::vector<int32_t> ids =
        Allowed(constraint, static_cast<uint32_t>(tokenizer.vocab_size()));
    if (ids.empty()) {
      walk.dead_end = true;
      return walk;
    }
    int32_t id = ids[choose(ids.size())];
    if (step >= free && choose(4) > 0) {
      size_t best = kEnding.size();
      for (int32_t candidate : ids) {
        std::string_view bytes = tokenizer.TokenBytes(candidate);
        size_t rank = bytes.size() == 1 ? kEnding.find(bytes[0]) : best;
        if (candidate == stop || rank < best) {
          best = candidate == stop ? 0 : rank;
          id = candidate;
          if (candidate == stop) {
            break;
          }
        }
      }
    }
    if (id == stop) {
      walk.finished = true;
      return walk;
    }
    walk.text += tokenizer.TokenBytes(id);
    constraint.Accept(id);
  }
  return walk;
}

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_TOKEN_WALK_TEST_FILES_H_
