// `PrefixCache` keeps states of sequences in memory of the host, by the tokens
// that led to them, within a budget: who was used longest ago goes first.
//
// It does not know what a state is; it counts bytes and compares tokens.
#ifndef GLM_RUNTIME_ENGINE_PREFIX_CACHE_H_
#define GLM_RUNTIME_ENGINE_PREFIX_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace glm {

// Not thread-safe.
class PrefixCache {
 public:
  struct Entry {
    std::vector<int32_t> tokens;
    std::span<const std::byte> state;
  };

  explicit PrefixCache(uint64_t limit) : limit_(limit) {}

  // The entry with the most tokens, all of which begin `prompt`, and at least
  // one fewer; it counts as used now. Null: there is none. Valid until the
  // next call of Keep or Clear.
  const Entry* Find(std::span<const int32_t> prompt);

  // Whether the state of exactly these tokens is kept; then it counts as used.
  bool Holds(std::span<const int32_t> tokens);

  // Keeps a state of `bytes` bytes that `fill` writes, and lets go of others
  // until it fits. Nothing is kept where it is already, or could not fit, or
  // the host has no memory left.
  //
  // Errors: those of `fill`; the state is then not kept.
  absl::Status Keep(std::span<const int32_t> tokens, uint64_t bytes,
                    absl::FunctionRef<absl::Status(std::span<std::byte>)> fill);

  void Clear();

  uint64_t limit() const { return limit_; }
  uint64_t bytes() const { return bytes_; }  // states and their tokens
  uint64_t entries() const { return entries_.size(); }

 private:
  struct Kept {
    Entry entry;
    std::unique_ptr<std::byte[]> memory;
    uint64_t hash = 0;

    uint64_t Bytes() const {
      return entry.state.size() + entry.tokens.size() * sizeof(int32_t);
    }
  };
  using List = std::list<Kept>;

  void Drop(List::iterator kept);

  const uint64_t limit_;
  uint64_t bytes_ = 0;
  List entries_;  // used last first
  std::unordered_map<uint64_t, List::iterator> by_hash_;
  std::map<size_t, uint32_t> lengths_;  // how many have so many tokens
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_PREFIX_CACHE_H_
