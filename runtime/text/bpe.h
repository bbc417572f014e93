// `Bpe` applies the merges of a byte-pair encoding to one piece of text: always
// the merge of lowest rank, of equal ones the leftmost, until none applies.
//
// It neither splits text into pieces nor knows added tokens.
#ifndef GLM_RUNTIME_TEXT_BPE_H_
#define GLM_RUNTIME_TEXT_BPE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace glm::text {

// Const members may be called from any number of threads.
class Bpe {
 public:
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t result;
  };

  Bpe() = default;

  // `byte_ids` are the ids of the 256 single bytes; the index of a merge is its
  // rank. No pair (left, right) may occur twice.
  Bpe(const std::array<int32_t, 256>& byte_ids, std::span<const Merge> merges);

  // Appends the ids of `piece`. Cost: O(n log n) in its bytes.
  void Append(std::string_view piece, std::vector<int32_t>& ids) const;

 private:
  struct Rule {
    uint32_t rank;
    int32_t result;
  };

  static uint64_t Key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 |
           static_cast<uint32_t>(right);
  }
  const Rule* FindRule(int32_t left, int32_t right) const;
  void AppendShort(std::string_view piece, std::vector<int32_t>& ids) const;
  void AppendLong(std::string_view piece, std::vector<int32_t>& ids) const;

  std::array<int32_t, 256> byte_ids_ = {};
  absl::flat_hash_map<uint64_t, Rule> rules_;
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_BPE_H_
