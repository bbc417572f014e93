#include "runtime/grammar/automaton.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "runtime/grammar/limits.h"

namespace glm::grammar {

Automaton::Automaton() {
  State end;
  end.kind = State::Kind::kReturn;
  states_.push_back(std::move(end));
}

StateId Automaton::Add(State state) {
  if (states_.size() >= kMaxAutomatonStates) {
    overflowed_ = true;
    return kReturnState;
  }
  states_.push_back(std::move(state));
  return static_cast<StateId>(states_.size() - 1);
}

StateId Automaton::AddBytes(std::vector<ByteEdge> edges) {
  State state;
  state.edges = std::move(edges);
  return Add(std::move(state));
}

StateId Automaton::AddSplit(std::vector<StateId> next) {
  State state;
  state.kind = State::Kind::kSplit;
  state.next = std::move(next);
  return Add(std::move(state));
}

StateId Automaton::AddCall(StateId rule, StateId then) {
  State state;
  state.kind = State::Kind::kCall;
  state.next = {rule, then};
  return Add(std::move(state));
}

StateId Automaton::AddLoop(StateId rule, uint32_t min, uint32_t max,
                           StateId then) {
  State state;
  state.kind = State::Kind::kLoop;
  state.next = {rule, then};
  state.min = min;
  state.max = max;
  has_bounded_loops |= min > 1 || max != kUnbounded;
  return Add(std::move(state));
}

StateId Automaton::AddByte(uint8_t byte, StateId then) {
  return AddBytes({{byte, byte, then}});
}

StateId Automaton::AddText(std::string_view text, StateId then) {
  for (size_t i = text.size(); i-- > 0;) {
    then = AddByte(static_cast<uint8_t>(text[i]), then);
  }
  return then;
}

StateId Automaton::AddToTree(StateId root, std::string_view text) {
  StateId at = root;
  for (char c : text) {
    auto byte = static_cast<uint8_t>(c);
    const std::vector<ByteEdge>& edges = states_[at].edges;
    auto found =
        std::find_if(edges.begin(), edges.end(),
                     [&](const ByteEdge& edge) { return edge.low == byte; });
    if (found != edges.end()) {
      at = found->to;
      continue;
    }
    StateId added = AddBytes();
    if (overflowed_) {
      return kReturnState;
    }
    states_[at].edges.push_back({byte, byte, added});
    at = added;
  }
  return at;
}

namespace {

// kNever where one of them is; sums stay below it.
uint64_t Sum(uint64_t a, uint64_t b) {
  if (a == kNever || b == kNever) return kNever;
  return a > kNever - 1 - b ? kNever - 1 : a + b;
}

uint64_t Product(uint64_t count, uint64_t bytes) {
  if (count == 0 || bytes == 0) return 0;
  if (bytes == kNever) return kNever;
  return bytes > (kNever - 1) / count ? kNever - 1 : count * bytes;
}

uint64_t Least(const State& state, const std::vector<uint64_t>& least) {
  uint64_t bytes = kNever;
  switch (state.kind) {
    case State::Kind::kReturn:
      return 0;
    case State::Kind::kBytes:
      for (const ByteEdge& edge : state.edges) {
        bytes = std::min(bytes, Sum(1, least[edge.to]));
      }
      return bytes;
    case State::Kind::kSplit:
      for (StateId next : state.next) {
        bytes = std::min(bytes, least[next]);
      }
      return bytes;
    case State::Kind::kCall:
      return Sum(least[state.next[0]], least[state.next[1]]);
    case State::Kind::kLoop:
      return state.min > state.max
                 ? kNever
                 : Sum(Product(state.min, least[state.next[0]]),
                       least[state.next[1]]);
  }
  return bytes;
}

}  // namespace

// No way is shorter than what it leads to: the states become known in order of
// their bytes, each once.
std::vector<uint64_t> Automaton::LeastBytes() const {
  std::vector<std::vector<StateId>> users(size());
  for (StateId id = 0; id < size(); ++id) {
    for (const ByteEdge& edge : states_[id].edges) {
      users[edge.to].push_back(id);
    }
    for (StateId next : states_[id].next) {
      users[next].push_back(id);
    }
  }
  std::vector<uint64_t> least(size(), kNever);
  using Found = std::pair<uint64_t, StateId>;
  std::priority_queue<Found, std::vector<Found>, std::greater<>> found;
  auto look = [&](StateId id) {
    if (least[id] != kNever) return;
    if (uint64_t bytes = Least(states_[id], least); bytes != kNever) {
      found.push({bytes, id});
    }
  };
  look(kReturnState);
  for (StateId id = 0; id < size(); ++id) {
    look(id);
  }
  while (!found.empty()) {
    auto [bytes, id] = found.top();
    found.pop();
    if (least[id] != kNever) {
      continue;
    }
    least[id] = bytes;
    for (StateId user : users[id]) {
      look(user);
    }
  }
  return least;
}

std::vector<uint64_t> Automaton::Trim() {
  std::vector<uint64_t> least = LeastBytes();
  auto never = [&](StateId id) { return least[id] == kNever; };
  for (State& state : states_) {
    std::erase_if(state.edges,
                  [&](const ByteEdge& edge) { return never(edge.to); });
    if (state.kind == State::Kind::kSplit) {
      std::erase_if(state.next, never);
    } else if (state.kind == State::Kind::kLoop && never(state.next[0])) {
      state.kind = State::Kind::kSplit;  // no turn is possible
      state.next.erase(state.next.begin());
    }
  }
  least_bytes = least[root];
  return least;
}

}  // namespace glm::grammar
