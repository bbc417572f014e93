#include "runtime/grammar/string_rules.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/text/utf8.h"

namespace glm::grammar {
namespace {

constexpr StateId kReturn = Automaton::kReturnState;

uint8_t Byte(uint32_t value) { return static_cast<uint8_t>(value); }

std::vector<ByteEdge> Hex(StateId to) {
  return {{'0', '9', to}, {'A', 'F', to}, {'a', 'f', to}};
}

uint32_t Clamped(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, INT32_MAX));
}

// The letter of the short escape of a code point; 0 for none.
char ShortEscape(uint32_t c) {
  switch (c) {
    case '"':
    case '\\':
      return static_cast<char>(c);
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

}  // namespace

StringRules::StringRules(Automaton& automaton)
    : automaton_(automaton),
      any_(Characters(std::nullopt, true)),
      character_(Characters(kReturn, true)),
      key_(Characters(std::nullopt, false)) {}

StateId StringRules::EscapeOfCodePoint(StateId done) {
  StateId one = automaton_.AddBytes(Hex(done));
  StateId two = automaton_.AddBytes(Hex(one));
  StateId three = automaton_.AddBytes(Hex(two));
  // U+D800 to U+DBFF must be followed by \uDC00 to \uDFFF.
  StateId low_second = automaton_.AddBytes({{'C', 'F', two}, {'c', 'f', two}});
  StateId low_first =
      automaton_.AddBytes({{'D', 'D', low_second}, {'d', 'd', low_second}});
  StateId low_begin = automaton_.AddText("\\u", low_first);
  StateId high_one = automaton_.AddBytes(Hex(low_begin));
  StateId high_two = automaton_.AddBytes(Hex(high_one));
  StateId after_d = automaton_.AddBytes({{'0', '7', two},
                                         {'8', '9', high_two},
                                         {'A', 'B', high_two},
                                         {'a', 'b', high_two}});
  return automaton_.AddBytes({{'0', '9', three},
                              {'A', 'C', three},
                              {'E', 'F', three},
                              {'a', 'c', three},
                              {'e', 'f', three},
                              {'D', 'D', after_d},
                              {'d', 'd', after_d}});
}

StateId StringRules::Characters(std::optional<StateId> done, bool all_escapes) {
  StateId begin = automaton_.AddBytes();
  StateId to = done.value_or(begin);
  std::vector<ByteEdge> edges;
  AddRaw(edges, ' ', '"' - 1, to);
  AddRaw(edges, '"' + 1, '\\' - 1, to);
  AddRaw(edges, '\\' + 1, kMaxCodePoint, to);
  std::vector<ByteEdge> escapes;
  for (char c : std::string_view("\"\\bfnrt")) {
    escapes.push_back({Byte(c), Byte(c), to});
  }
  if (all_escapes) {
    escapes.push_back({'/', '/', to});
    escapes.push_back({'u', 'u', EscapeOfCodePoint(to)});
  }
  edges.push_back({'\\', '\\', automaton_.AddBytes(std::move(escapes))});
  if (!done.has_value()) {
    edges.push_back({'"', '"', kReturn});
  }
  automaton_[begin].edges = std::move(edges);
  return begin;
}

StateId StringRules::String(uint64_t min, std::optional<uint64_t> max) {
  if (min == 0 && !max.has_value()) {
    return automaton_.AddByte('"', any_);
  }
  StateId end = automaton_.AddByte('"', kReturn);
  uint32_t most = max.has_value() ? Clamped(*max) : kUnbounded;
  return automaton_.AddByte(
      '"', automaton_.AddLoop(character_, Clamped(min), most, end));
}

StateId StringRules::StringOf(const CodePointSet& set) {
  std::vector<StateId> ids(set.size());
  for (StateId& id : ids) {
    id = automaton_.AddBytes();
  }
  for (size_t i = 0; i < set.size() && !automaton_.overflowed(); ++i) {
    std::vector<ByteEdge> edges;
    if (set[i].can_end) {
      edges.push_back({'"', '"', kReturn});
    }
    for (const CodePointEdge& edge : set[i].edges) {
      StateId to = ids[edge.to];
      AddEscapes(edges, edge.low, edge.high, to);
      uint32_t low = std::max<uint32_t>(edge.low, ' ');
      for (uint32_t apart : {uint32_t{'"'}, uint32_t{'\\'}}) {
        AddRaw(edges, low, std::min(edge.high, apart - 1), to);
        low = std::max(low, apart + 1);
      }
      AddRaw(edges, low, edge.high, to);
    }
    automaton_[ids[i]].edges = std::move(edges);
  }
  return automaton_.AddByte('"', ids[0]);
}

StateId StringRules::RawCharacter(StateId done) {
  std::vector<ByteEdge> edges;
  AddRaw(edges, 0, kMaxCodePoint, done);
  return automaton_.AddBytes(std::move(edges));
}

StateId StringRules::RawString(uint64_t min, std::optional<uint64_t> max) {
  if (min == 0 && !max.has_value()) {
    if (!raw_any_.has_value()) {
      raw_any_ = automaton_.AddSplit();
      StateId character = RawCharacter(*raw_any_);
      automaton_[*raw_any_].next = {character, kReturn};
    }
    return *raw_any_;
  }
  uint32_t most = max.has_value() ? Clamped(*max) : kUnbounded;
  return automaton_.AddLoop(RawCharacter(kReturn), Clamped(min), most, kReturn);
}

StateId StringRules::RawStringOf(const CodePointSet& set) {
  std::vector<StateId> ids(set.size());
  for (StateId& id : ids) {
    id = automaton_.AddSplit();
  }
  for (size_t i = 0; i < set.size() && !automaton_.overflowed(); ++i) {
    std::vector<ByteEdge> edges;
    for (const CodePointEdge& edge : set[i].edges) {
      AddRaw(edges, edge.low, edge.high, ids[edge.to]);
    }
    std::vector<StateId> next = {automaton_.AddBytes(std::move(edges))};
    if (set[i].can_end) {
      next.push_back(kReturn);
    }
    automaton_[ids[i]].next = std::move(next);
  }
  return ids[0];
}

void StringRules::AddEscapes(std::vector<ByteEdge>& edges, uint32_t low,
                             uint32_t high, StateId to) {
  std::vector<ByteEdge> letters;
  std::vector<ByteEdge> hex[2];  // by the third digit of \u00HH
  for (uint32_t c = low; c <= std::min<uint32_t>(high, '\\'); ++c) {
    if (char letter = ShortEscape(c); letter != 0) {
      letters.push_back({Byte(letter), Byte(letter), to});
    } else if (c < ' ') {
      uint8_t digit = Byte("0123456789abcdef"[c % 16]);
      hex[c / 16].push_back({digit, digit, to});
    }
  }
  if (letters.empty() && hex[0].empty() && hex[1].empty()) {
    return;
  }
  if (!hex[0].empty() || !hex[1].empty()) {
    StateId third =
        automaton_.AddBytes({{'0', '0', automaton_.AddBytes(hex[0])},
                             {'1', '1', automaton_.AddBytes(hex[1])}});
    letters.push_back({'u', 'u', automaton_.AddText("00", third)});
  }
  edges.push_back({'\\', '\\', automaton_.AddBytes(std::move(letters))});
}

StateId StringRules::Continuation(int count, StateId to) {
  for (; count > 0; --count) {
    to = automaton_.AddBytes({{0x80, 0xBF, to}});
  }
  return to;
}

void StringRules::AddRaw(std::vector<ByteEdge>& edges, uint32_t low,
                         uint32_t high, StateId to) {
  // Cut where the number of bytes changes and where surrogates lie.
  static constexpr std::pair<uint32_t, uint32_t> kLengths[] = {
      {0, 0x7F},
      {0x80, 0x7FF},
      {0x800, 0xD7FF},
      {0xE000, 0xFFFF},
      {0x10000, kMaxCodePoint}};
  for (auto [first, last] : kLengths) {
    uint32_t from = std::max(low, first);
    uint32_t until = std::min(high, last);
    if (from > until) {
      continue;
    }
    std::string a;
    std::string b;
    text::AppendUtf8(from, a);
    text::AppendUtf8(until, b);
    // Ways from a byte at which both ends are still the bounds: below, `tight`
    // holds those of the byte before.
    auto add = [&](auto& self, size_t at, bool low_bound, bool high_bound,
                   std::vector<ByteEdge>& out) -> void {
      uint8_t x = low_bound ? Byte(a[at]) : 0x80;
      uint8_t y = high_bound ? Byte(b[at]) : 0xBF;
      int rest = static_cast<int>(a.size() - at) - 1;
      if (rest == 0) {
        out.push_back({x, y, to});
        return;
      }
      auto step = [&](uint8_t byte, bool low_next, bool high_next) {
        std::vector<ByteEdge> inner;
        self(self, at + 1, low_next, high_next, inner);
        out.push_back({byte, byte, automaton_.AddBytes(std::move(inner))});
      };
      if (x == y) {
        step(x, low_bound, high_bound);
        return;
      }
      if (low_bound) {
        step(x++, true, false);
      }
      if (high_bound) {
        step(y--, false, true);
      }
      if (x <= y) {
        out.push_back({x, y, Continuation(rest, to)});
      }
    };
    add(add, 0, true, true, edges);
  }
}

StateId StringRules::KeyBut(const std::vector<std::string>& spelled) {
  automaton_.has_free_keys = true;
  if (spelled.empty()) {
    return automaton_.AddByte('"', key_);
  }
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> children;
    bool is_key = false;
    StateId plain = 0;  // where the rule for all keys is after these bytes
    StateId state = 0;
  };
  std::vector<Node> nodes(1);
  for (const std::string& key : spelled) {
    uint32_t at = 0;
    for (char c : key) {
      auto& children = nodes[at].children;
      auto found = std::find_if(
          children.begin(), children.end(),
          [&](const auto& child) { return child.first == Byte(c); });
      if (found != children.end()) {
        at = found->second;
        continue;
      }
      auto added = static_cast<uint32_t>(nodes.size());
      children.push_back({Byte(c), added});
      nodes.emplace_back();
      at = added;
    }
    nodes[at].is_key = true;
  }
  nodes[0].plain = key_;
  nodes[0].state = automaton_.AddBytes();
  // A child comes after its parent. One that the rule cannot spell keeps
  // `plain` 0 and is never reached.
  for (size_t i = 0; i < nodes.size() && !automaton_.overflowed(); ++i) {
    if (nodes[i].plain == 0) {
      continue;
    }
    std::vector<ByteEdge> edges;
    for (const ByteEdge& edge :
         std::vector<ByteEdge>(automaton_[nodes[i].plain].edges)) {
      uint32_t low = edge.low;
      auto children = nodes[i].children;
      std::sort(children.begin(), children.end());
      for (auto [byte, child] : children) {
        if (byte < edge.low || byte > edge.high) {
          continue;
        }
        if (low < byte) {
          edges.push_back({Byte(low), Byte(byte - 1u), edge.to});
        }
        low = byte + 1u;
        nodes[child].plain = edge.to;
        nodes[child].state = automaton_.AddBytes();
        edges.push_back({byte, byte, nodes[child].state});
      }
      bool ends_key = edge.to == kReturn && edge.low == '"';
      if (low <= edge.high && !(ends_key && nodes[i].is_key)) {
        edges.push_back({Byte(low), edge.high, edge.to});
      }
    }
    automaton_[nodes[i].state].edges = std::move(edges);
  }
  return automaton_.AddByte('"', nodes[0].state);
}

}  // namespace glm::grammar
