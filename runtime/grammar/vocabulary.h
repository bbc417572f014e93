// The tree of a tokenizer's tokens, which masks are made from.
#ifndef GLM_RUNTIME_GRAMMAR_VOCABULARY_H_
#define GLM_RUNTIME_GRAMMAR_VOCABULARY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/json_grammar.h"
#include "runtime/text/chat_markers.h"

namespace glm::grammar {

class VocabularyTree : public GrammarVocabulary {
 public:
  // One byte, after those of the node above it. Nodes are in depth-first order.
  struct Node {
    uint32_t end = 0;     // the first node that is not below this one
    uint32_t tokens = 0;  // of tokens(): the first that ends here or below
    uint16_t depth = 0;   // bytes up to here, from 1 on
    uint8_t byte = 0;
  };

  explicit VocabularyTree(const text::Tokenizer& tokenizer);

  // Tokens end in a node from its `tokens` to those of the one after it. The
  // last one is there for that alone.
  std::span<const Node> nodes() const { return nodes_; }
  // In order of their bytes: those of a node, then those below it.
  std::span<const int32_t> tokens() const { return tokens_; }
  uint32_t longest() const { return longest_; }  // bytes
  size_t words() const { return (bytes_.size() + 63) / 64; }

  const text::MarkerIds& markers() const { return markers_; }
  std::string_view Bytes(int32_t id) const;
  // Ids whose bytes have two or more quotes: that may hold a whole key.
  std::span<const int32_t> with_quotes() const { return with_quotes_; }
  // Ids whose bytes begin with `bytes`.
  std::span<const int32_t> TokensFrom(std::string_view bytes) const;

  // Sets the bits of tokens with which one of `texts` may go on behind its
  // first `known` bytes. The texts are sorted and all begin with these bytes.
  void AllowTexts(std::span<const std::string_view> texts, size_t known,
                  std::span<uint64_t> words) const;

 private:
  text::MarkerIds markers_;
  std::vector<std::string> bytes_;  // by id; none of added tokens
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> with_quotes_;
  uint32_t longest_ = 0;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_VOCABULARY_H_
