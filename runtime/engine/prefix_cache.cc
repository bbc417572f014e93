#include "runtime/engine/prefix_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/base/status_macros.h"

namespace glm {
namespace {

// A chain: the hash of n tokens follows from that of the first n - 1, so one
// walk over a prompt passes the hashes of all of its beginnings.
class ChainHash {
 public:
  void Add(int32_t token) {
    uint64_t z = value_ + static_cast<uint32_t>(token) + 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    value_ = z ^ (z >> 31);
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

uint64_t HashOf(std::span<const int32_t> tokens) {
  ChainHash hash;
  for (const int32_t token : tokens) hash.Add(token);
  return hash.value();
}

}  // namespace

const PrefixCache::Entry* PrefixCache::Find(std::span<const int32_t> prompt) {
  List::iterator best = entries_.end();
  ChainHash hash;
  size_t hashed = 0;
  for (const auto& [length, count] : lengths_) {
    if (length >= prompt.size()) break;
    for (; hashed < length; ++hashed) hash.Add(prompt[hashed]);
    const auto found = by_hash_.find(hash.value());
    if (found == by_hash_.end()) continue;
    const std::vector<int32_t>& tokens = found->second->entry.tokens;
    // Hashes may be equal by chance.
    if (tokens.size() == length &&
        std::equal(tokens.begin(), tokens.end(), prompt.begin())) {
      best = found->second;
    }
  }
  if (best == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, best);
  return &best->entry;
}

bool PrefixCache::Holds(std::span<const int32_t> tokens) {
  const auto found = by_hash_.find(HashOf(tokens));
  if (found == by_hash_.end() ||
      !std::ranges::equal(found->second->entry.tokens, tokens)) {
    return false;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return true;
}

absl::Status PrefixCache::Keep(
    std::span<const int32_t> tokens, uint64_t bytes,
    absl::FunctionRef<absl::Status(std::span<std::byte>)> fill) {
  const uint64_t wanted = bytes + tokens.size_bytes();
  if (tokens.empty() || wanted > limit_ || Holds(tokens)) {
    return absl::OkStatus();
  }
  Kept kept;
  kept.hash = HashOf(tokens);
  if (const auto same = by_hash_.find(kept.hash); same != by_hash_.end()) {
    Drop(same->second);
  }
  while (bytes_ + wanted > limit_) Drop(std::prev(entries_.end()));
  kept.memory.reset(new (std::nothrow) std::byte[bytes]);
  if (kept.memory == nullptr) return absl::OkStatus();
  GLM_RETURN_IF_ERROR(fill({kept.memory.get(), bytes}));
  kept.entry.tokens.assign(tokens.begin(), tokens.end());
  kept.entry.state = {kept.memory.get(), bytes};
  bytes_ += wanted;
  ++lengths_[tokens.size()];
  entries_.push_front(std::move(kept));
  by_hash_[entries_.front().hash] = entries_.begin();
  return absl::OkStatus();
}

void PrefixCache::Drop(List::iterator kept) {
  bytes_ -= kept->Bytes();
  const auto length = lengths_.find(kept->entry.tokens.size());
  if (--length->second == 0) lengths_.erase(length);
  by_hash_.erase(kept->hash);
  entries_.erase(kept);
}

void PrefixCache::Clear() {
  entries_.clear();
  by_hash_.clear();
  lengths_.clear();
  bytes_ = 0;
}

}  // namespace glm
