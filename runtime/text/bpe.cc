#include "runtime/text/bpe.h"

#include <cstddef>
#include <limits>
#include <queue>

namespace glm::text {
namespace {

constexpr size_t kShortBytes = 48;
constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

}  // namespace

Bpe::Bpe(const std::array<int32_t, 256>& byte_ids,
         std::span<const Merge> merges)
    : byte_ids_(byte_ids) {
  rules_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    rules_.emplace(Key(merge.left, merge.right),
                   Rule{static_cast<uint32_t>(rank), merge.result});
  }
}

const Bpe::Rule* Bpe::FindRule(int32_t left, int32_t right) const {
  auto found = rules_.find(Key(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

void Bpe::Append(std::string_view piece, std::vector<int32_t>& ids) const {
  if (piece.size() <= kShortBytes) {
    AppendShort(piece, ids);
  } else {
    AppendLong(piece, ids);
  }
}

// Scans for the lowest rank after each merge: for a few dozen bytes cheaper
// than any structure.
void Bpe::AppendShort(std::string_view piece,
                      std::vector<int32_t>& ids) const {
  struct Symbol {
    int32_t id;
    uint32_t rank;   // of the merge with the next symbol
    int32_t result;  // of that merge
  };
  std::array<Symbol, kShortBytes> symbols;
  size_t count = piece.size();
  auto rank_at = [&](size_t i) {
    symbols[i].rank = kNoRank;
    if (i + 1 < count) {
      if (const Rule* rule = FindRule(symbols[i].id, symbols[i + 1].id)) {
        symbols[i].rank = rule->rank;
        symbols[i].result = rule->result;
      }
    }
  };
  for (size_t i = 0; i < count; ++i) {
    symbols[i].id = byte_ids_[static_cast<uint8_t>(piece[i])];
  }
  for (size_t i = 0; i < count; ++i) {
    rank_at(i);
  }
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (symbols[i].rank < symbols[best].rank) {
        best = i;
      }
    }
    if (symbols[best].rank == kNoRank) {
      break;
    }
    symbols[best].id = symbols[best].result;
    for (size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
    }
    --count;
    rank_at(best);
    if (best > 0) {
      rank_at(best - 1);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(symbols[i].id);
  }
}

// A linked list of symbols and a queue of possible merges; a queued merge whose
// symbols have changed meanwhile is dropped when its turn comes.
void Bpe::AppendLong(std::string_view piece, std::vector<int32_t>& ids) const {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  struct Symbol {
    int32_t id;  // -1 once merged into its left neighbour
    size_t previous;
    size_t next;
  };
  struct Candidate {
    uint32_t rank;
    size_t position;
    int32_t left;
    int32_t right;
    int32_t result;

    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank
                                : position > other.position;
    }
  };
  std::vector<Symbol> symbols(piece.size());
  for (size_t i = 0; i < piece.size(); ++i) {
    symbols[i] = {byte_ids_[static_cast<uint8_t>(piece[i])],
                  i == 0 ? kNone : i - 1,
                  i + 1 == piece.size() ? kNone : i + 1};
  }
  std::priority_queue<Candidate> queue;
  auto offer = [&](size_t position) {
    size_t next = symbols[position].next;
    if (next == kNone) {
      return;
    }
    int32_t left = symbols[position].id;
    int32_t right = symbols[next].id;
    if (const Rule* rule = FindRule(left, right)) {
      queue.push({rule->rank, position, left, right, rule->result});
    }
  };
  for (size_t i = 0; i < symbols.size(); ++i) {
    offer(i);
  }
  while (!queue.empty()) {
    Candidate candidate = queue.top();
    queue.pop();
    Symbol& symbol = symbols[candidate.position];
    if (symbol.id != candidate.left || symbol.next == kNone ||
        symbols[symbol.next].id != candidate.right) {
      continue;
    }
    symbols[symbol.next].id = -1;
    symbol.id = candidate.result;
    symbol.next = symbols[symbol.next].next;
    if (symbol.next != kNone) {
      symbols[symbol.next].previous = candidate.position;
    }
    offer(candidate.position);
    if (symbol.previous != kNone) {
      offer(symbol.previous);
    }
  }
  for (size_t i = 0; i != kNone; i = symbols[i].next) {
    ids.push_back(symbols[i].id);
  }
}

}  // namespace glm::text
