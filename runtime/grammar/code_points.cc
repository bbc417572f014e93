#include "runtime/grammar/code_points.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/grammar/limits.h"
#include "runtime/text/utf8.h"

namespace glm::grammar {

std::optional<CodePointSet> Lengths(uint64_t min, std::optional<uint64_t> max) {
  uint64_t last = max.value_or(min);
  if (last >= kMaxPatternStates) {
    return std::nullopt;
  }
  CodePointSet set(last + 1);
  for (uint64_t i = 0; i <= last; ++i) {
    set[i].can_end = i >= min;
    if (i < last) {
      set[i].edges = {{0, kMaxCodePoint, static_cast<uint32_t>(i + 1)}};
    }
  }
  if (!max.has_value()) {
    set[last].edges = {{0, kMaxCodePoint, static_cast<uint32_t>(last)}};
  }
  return set;
}

std::optional<CodePointSet> Both(const CodePointSet& a, const CodePointSet& b,
                                 PatternWork& work) {
  CodePointSet set;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ids;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  auto id_of = [&](uint32_t x, uint32_t y) {
    auto [at, added] = ids.try_emplace({x, y}, pairs.size());
    if (added) {
      pairs.push_back({x, y});
    }
    return at->second;
  };
  id_of(0, 0);
  size_t edges = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs.size() > kMaxPatternStates) {
      return std::nullopt;
    }
    auto [x, y] = pairs[i];
    CodePointState state;
    state.can_end = a[x].can_end && b[y].can_end;
    work.Add(1 + a[x].edges.size() * b[y].edges.size());
    if (work.exhausted()) {
      return std::nullopt;
    }
    for (const CodePointEdge& p : a[x].edges) {
      for (const CodePointEdge& q : b[y].edges) {
        uint32_t low = std::max(p.low, q.low);
        uint32_t high = std::min(p.high, q.high);
        if (low > high) {
          continue;
        }
        if (++edges > kMaxPatternEdges) {
          return std::nullopt;
        }
        state.edges.push_back({low, high, id_of(p.to, q.to)});
      }
    }
    set.push_back(std::move(state));
  }
  return set;
}

bool Contains(const CodePointSet& set, std::string_view text,
              PatternWork& work) {
  std::vector<uint32_t> at = {0};
  for (size_t position = 0; position < text.size();) {
    uint32_t code_point = text::NextCodePoint(text, position);
    std::vector<uint32_t> next;
    for (uint32_t state : at) {
      work.Add(1 + set[state].edges.size());
      if (work.exhausted()) {
        return false;
      }
      for (const CodePointEdge& edge : set[state].edges) {
        if (edge.low <= code_point && code_point <= edge.high) {
          next.push_back(edge.to);
        }
      }
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    at = std::move(next);
  }
  return std::any_of(at.begin(), at.end(),
                     [&](uint32_t state) { return set[state].can_end; });
}

}  // namespace glm::grammar
