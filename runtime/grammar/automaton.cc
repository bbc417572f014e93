#include "runtime/grammar/automaton.h"

#include <algorithm>
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

bool Automaton::CanEnd(const State& state,
                       const std::vector<bool>& ends) const {
  auto ends_at = [&](StateId id) { return ends[id]; };
  switch (state.kind) {
    case State::Kind::kReturn:
      return true;
    case State::Kind::kBytes:
      return std::any_of(state.edges.begin(), state.edges.end(),
                         [&](const ByteEdge& edge) { return ends[edge.to]; });
    case State::Kind::kSplit:
      return std::any_of(state.next.begin(), state.next.end(), ends_at);
    case State::Kind::kCall:
      return ends[state.next[0]] && ends[state.next[1]];
    case State::Kind::kLoop:
      return state.min <= state.max && ends[state.next[1]] &&
             (state.min == 0 || ends[state.next[0]]);
  }
  return false;
}

std::vector<bool> Automaton::Trim() {
  std::vector<std::vector<StateId>> users(size());
  for (StateId id = 0; id < size(); ++id) {
    for (const ByteEdge& edge : states_[id].edges) {
      users[edge.to].push_back(id);
    }
    for (StateId next : states_[id].next) {
      users[next].push_back(id);
    }
  }
  std::vector<bool> ends(size(), false);
  std::vector<StateId> news;
  auto look = [&](StateId id) {
    if (!ends[id] && CanEnd(states_[id], ends)) {
      ends[id] = true;
      news.push_back(id);
    }
  };
  for (StateId id = 0; id < size(); ++id) {
    look(id);
  }
  while (!news.empty()) {
    StateId id = news.back();
    news.pop_back();
    for (StateId user : users[id]) {
      look(user);
    }
  }
  for (State& state : states_) {
    std::erase_if(state.edges,
                  [&](const ByteEdge& edge) { return !ends[edge.to]; });
    if (state.kind == State::Kind::kSplit) {
      std::erase_if(state.next, [&](StateId id) { return !ends[id]; });
    } else if (state.kind == State::Kind::kLoop && !ends[state.next[0]]) {
      state.kind = State::Kind::kSplit;  // no turn is possible
      state.next.erase(state.next.begin());
    }
  }
  return ends;
}

}  // namespace glm::grammar
