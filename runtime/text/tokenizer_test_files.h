// Tokenizers for tests: nano's, and small ones built from parts.
#ifndef GLM_RUNTIME_TEXT_TOKENIZER_TEST_FILES_H_
#define GLM_RUNTIME_TEXT_TOKENIZER_TEST_FILES_H_

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/byte_level.h"
#include "runtime/text/tokenizer.h"

namespace glm::text {

inline std::string NanoTokenizerJson() {
  std::ifstream file(GLM_SOURCE_DIR
                     "/models/glm53/nano/checkpoint/tokenizer.json",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline const Tokenizer& Nano() {
  static const std::unique_ptr<Tokenizer> tokenizer =
      *Tokenizer::FromJson(NanoTokenizerJson(), "nano/tokenizer.json");
  return *tokenizer;
}

// A tokenizer.json whose vocabulary is the 256 bytes (id = byte value), then
// the results of `merges`, then `added` (content, special).
inline nlohmann::json SmallTokenizer(
    const std::vector<std::pair<std::string, std::string>>& merges,
    const std::vector<std::pair<std::string, bool>>& added) {
  nlohmann::json vocab = nlohmann::json::object();
  for (int byte = 0; byte < 256; ++byte) {
    char raw = static_cast<char>(byte);
    vocab[BytesToByteLevel({&raw, 1})] = byte;
  }
  int next = 256;
  nlohmann::json merge_list = nlohmann::json::array();
  for (const auto& [left, right] : merges) {
    if (!vocab.contains(left + right)) {
      vocab[left + right] = next++;
    }
    merge_list.push_back({left, right});
  }
  nlohmann::json added_list = nlohmann::json::array();
  for (const auto& [content, special] : added) {
    added_list.push_back({{"id", next++},
                          {"content", content},
                          {"single_word", false},
                          {"lstrip", false},
                          {"rstrip", false},
                          {"normalized", false},
                          {"special", special}});
  }
  return {{"added_tokens", added_list},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"use_regex", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"}, {"vocab", vocab}, {"merges", merge_list}}}};
}

inline absl::StatusOr<std::unique_ptr<Tokenizer>> Load(
    const nlohmann::json& json) {
  return Tokenizer::FromJson(json.dump(), "small.json");
}

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_TOKENIZER_TEST_FILES_H_
