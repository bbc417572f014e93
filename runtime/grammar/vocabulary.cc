#include "runtime/grammar/vocabulary.h"

#include <algorithm>
#include <memory>

namespace glm::grammar {
namespace {

constexpr size_t kLongest = UINT16_MAX;  // longer tokens are never allowed

}  // namespace

std::shared_ptr<const GrammarVocabulary> GrammarVocabulary::Create(
    const text::Tokenizer& tokenizer) {
  return std::make_shared<const VocabularyTree>(tokenizer);
}

VocabularyTree::VocabularyTree(const text::Tokenizer& tokenizer)
    : markers_(tokenizer) {
  bytes_.resize(static_cast<size_t>(tokenizer.vocab_size()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    std::string_view bytes = tokenizer.TokenBytes(id);
    if (tokenizer.IsAdded(id) || bytes.empty() || bytes.size() > kLongest) {
      continue;
    }
    bytes_[id] = bytes;
    tokens_.push_back(id);
    longest_ = std::max(longest_, static_cast<uint32_t>(bytes.size()));
    if (std::count(bytes.begin(), bytes.end(), '"') >= 2) {
      with_quotes_.push_back(id);
    }
  }
  std::sort(tokens_.begin(), tokens_.end(), [&](int32_t a, int32_t b) {
    return std::tie(bytes_[a], a) < std::tie(bytes_[b], b);
  });
  std::vector<uint32_t> path;  // the node of each byte of the token before
  std::string_view before;
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    std::string_view bytes = bytes_[tokens_[i]];
    size_t same = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), bytes.begin(), bytes.end())
            .first -
        before.begin());
    for (; path.size() > same; path.pop_back()) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    }
    for (size_t at = same; at < bytes.size(); ++at) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, i, static_cast<uint16_t>(at + 1),
                        static_cast<uint8_t>(bytes[at])});
    }
    before = bytes;
  }
  for (uint32_t node : path) {
    nodes_[node].end = static_cast<uint32_t>(nodes_.size());
  }
  nodes_.push_back({0, static_cast<uint32_t>(tokens_.size()), 0, 0});
}

std::string_view VocabularyTree::Bytes(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < bytes_.size()
             ? std::string_view(bytes_[id])
             : std::string_view();
}

std::span<const int32_t> VocabularyTree::TokensFrom(
    std::string_view bytes) const {
  auto first = std::lower_bound(
      tokens_.begin(), tokens_.end(), bytes,
      [&](int32_t id, std::string_view b) { return bytes_[id] < b; });
  auto last = std::find_if_not(first, tokens_.end(), [&](int32_t id) {
    return bytes_[id].starts_with(bytes);
  });
  return {first, last};
}

void VocabularyTree::AllowTexts(std::span<const std::string_view> texts,
                                size_t known, std::span<uint64_t> words) const {
  using Range = std::span<const std::string_view>;
  std::vector<Range> ranges(longest_ + 1);  // by depth
  ranges[0] = texts;
  for (size_t i = 0; i + 1 < nodes_.size();) {
    const Node& node = nodes_[i];
    const Range above = ranges[node.depth - 1u];
    const size_t at = known + node.depth - 1u;
    // Shorter texts come first.
    auto byte_of = [&](std::string_view text) {
      return text.size() > at ? static_cast<uint8_t>(text[at]) : -1;
    };
    auto first = std::partition_point(
        above.begin(), above.end(),
        [&](std::string_view text) { return byte_of(text) < node.byte; });
    auto last = std::partition_point(
        first, above.end(),
        [&](std::string_view text) { return byte_of(text) <= node.byte; });
    if (first == last) {
      i = node.end;
      continue;
    }
    ranges[node.depth] = {first, last};
    ++i;
    for (uint32_t t = node.tokens; t < nodes_[i].tokens; ++t) {
      auto word = static_cast<size_t>(tokens_[t]) / 64;
      if (word < words.size()) {
        words[word] |= uint64_t{1} << (tokens_[t] % 64);
      }
    }
  }
}

}  // namespace glm::grammar
