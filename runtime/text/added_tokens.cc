#include "runtime/text/added_tokens.h"

namespace glm::text {

void AddedTokenMatcher::Add(std::string_view content, int32_t id) {
  begins_[static_cast<uint8_t>(content[0])] = true;
  uint32_t node = 0;
  for (char c : content) {
    auto [edge, is_new] =
        edges_.try_emplace(Edge(node, static_cast<uint8_t>(c)), node_count_);
    if (is_new) {
      ++node_count_;
    }
    node = edge->second;
  }
  ids_[node] = id;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::Find(
    std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<uint8_t>(text[begin])]) {
      continue;
    }
    std::optional<Match> longest;
    uint32_t node = 0;
    for (size_t end = begin; end < text.size(); ++end) {
      auto edge = edges_.find(Edge(node, static_cast<uint8_t>(text[end])));
      if (edge == edges_.end()) {
        break;
      }
      node = edge->second;
      if (auto id = ids_.find(node); id != ids_.end()) {
        longest = Match{begin, end + 1, id->second};
      }
    }
    if (longest) {
      return longest;
    }
  }
  return std::nullopt;
}

}  // namespace glm::text
