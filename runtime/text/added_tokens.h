// `AddedTokenMatcher` finds the literal occurrences of a set of strings in a
// text: leftmost first, the longest of those that begin there, no overlaps.
#ifndef GLM_RUNTIME_TEXT_ADDED_TOKENS_H_
#define GLM_RUNTIME_TEXT_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace glm::text {

// Const members may be called from any number of threads.
class AddedTokenMatcher {
 public:
  struct Match {
    size_t begin;  // in bytes
    size_t end;
    int32_t id;
  };

  // `content` must not be empty. The last id of equal contents counts.
  void Add(std::string_view content, int32_t id);

  // The first match at or after `from`. Cost: the distance to the match, times
  // the length of the longest content at worst.
  std::optional<Match> Find(std::string_view text, size_t from) const;

 private:
  static uint64_t Edge(uint32_t node, uint8_t byte) {
    return uint64_t{node} << 8 | byte;
  }

  // A trie of bytes; node 0 is the root.
  std::array<bool, 256> begins_ = {};
  absl::flat_hash_map<uint64_t, uint32_t> edges_;
  absl::flat_hash_map<uint32_t, int32_t> ids_;
  uint32_t node_count_ = 1;
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_ADDED_TOKENS_H_
