#include "runtime/grammar/machine.h"

#include <algorithm>
#include <utility>

#include "runtime/grammar/limits.h"

namespace glm::grammar {

int32_t Machine::Intern(const Stack& stack) {
  auto [at, added] =
      stack_ids_.try_emplace(stack, static_cast<int32_t>(stacks_.size()));
  if (added) {
    stacks_.push_back(stack);
    seen_.push_back(0);
  }
  return at->second;
}

int32_t Machine::InternState(std::vector<int32_t> tops, bool can_end) {
  if (tops.empty() && !can_end) {
    return kDead;
  }
  std::sort(tops.begin(), tops.end());
  if (tops.size() > kMaxReadings) {
    tops.resize(kMaxReadings);
  }
  std::vector<int32_t> key = tops;
  if (can_end) {
    key.push_back(kBottom);
  }
  auto [at, added] = state_ids_.try_emplace(
      std::move(key), static_cast<int32_t>(states_.size()));
  if (added) {
    Known known;
    readings_ += tops.size();
    known.tops = std::move(tops);
    known.can_end = can_end;
    states_.push_back(std::move(known));
  }
  return at->second;
}

int32_t Machine::Close(std::vector<Stack> todo) {
  ++round_;
  std::vector<int32_t> tops;
  bool can_end = false;
  while (!todo.empty()) {
    Stack top = todo.back();
    todo.pop_back();
    if (++work_ > kMaxTokenWork) {
      return kDead;
    }
    const State& state = automaton_[top.state];
    if (state.kind == State::Kind::kReturn) {
      if (top.below == kBottom) {
        can_end = true;
      } else {
        todo.push_back(stacks_[top.below]);
      }
      continue;
    }
    int32_t id = Intern(top);
    if (seen_[id] == round_) {
      continue;
    }
    seen_[id] = round_;
    switch (state.kind) {
      case State::Kind::kReturn:
        break;
      case State::Kind::kBytes:
        tops.push_back(id);
        break;
      case State::Kind::kSplit:
        work_ += state.next.size();
        for (StateId next : state.next) {
          todo.push_back({next, 0, top.below});
        }
        break;
      case State::Kind::kCall: {
        // A rule that ends with a call leaves no frame behind.
        int32_t below = state.next[1] == Automaton::kReturnState
                            ? top.below
                            : Intern({state.next[1], 0, top.below});
        todo.push_back({state.next[0], 0, below});
        break;
      }
      case State::Kind::kLoop: {
        if (top.count >= state.min) {
          todo.push_back({state.next[1], 0, top.below});
        }
        if (top.count < state.max) {
          uint32_t most = state.max == kUnbounded ? state.min : state.max;
          uint32_t count = std::min(top.count + 1, most);
          int32_t below = Intern({top.state, count, top.below});
          todo.push_back({state.next[0], 0, below});
        }
        break;
      }
    }
  }
  return InternState(std::move(tops), can_end);
}

int32_t Machine::FindOut(int32_t state, uint8_t byte, bool must_know) {
  if (!must_know && (states_.size() >= 2 * kMachineStates ||
                     stacks_.size() >= imported_ + 2 * kMachineStacks ||
                     readings_ >= 2 * kMachineReadings)) {
    return kDead;
  }
  if (states_[state].after == nullptr) {
    states_[state].after = std::make_unique<std::array<int32_t, 256>>();
    states_[state].after->fill(kUnknown);
  }
  // All bytes from `low` to `high` take the same edges.
  uint8_t low = 0;
  uint8_t high = 255;
  std::vector<Stack> todo;
  for (int32_t top : states_[state].tops) {
    const Stack stack = stacks_[top];
    work_ += 1 + automaton_[stack.state].edges.size();
    if (exhausted()) {
      return kDead;
    }
    for (const ByteEdge& edge : automaton_[stack.state].edges) {
      if (byte < edge.low) {
        high = std::min<uint8_t>(high, edge.low - 1);
      } else if (byte > edge.high) {
        low = std::max<uint8_t>(low, edge.high + 1);
      } else {
        low = std::max(low, edge.low);
        high = std::min(high, edge.high);
        todo.push_back({edge.to, 0, stack.below});
      }
    }
  }
  int32_t after = todo.empty() ? kDead : Close(std::move(todo));
  if (exhausted()) {
    return kDead;
  }
  auto& row = *states_[state].after;
  std::fill(row.begin() + low, row.begin() + high + 1, after);
  return after;
}

int32_t Machine::CanonicalStack(int32_t stack, uint32_t longest) {
  std::vector<Stack> frames;
  bool changes = false;
  for (int32_t at = stack; at != kBottom; at = stacks_[at].below) {
    Stack frame = stacks_[at];
    const State& state = automaton_[frame.state];
    ++work_;
    // So many bytes cannot bring the count from far below a limit to it.
    if (state.kind == State::Kind::kLoop && frame.count > 0) {
      uint32_t count = frame.count;
      if (count >= state.min) {
        if (state.max != kUnbounded && state.max - count > longest) {
          count = state.min;
        }
      } else if (state.min - count > longest) {
        count = 0;
      }
      changes |= count != frame.count;
      frame.count = count;
    }
    frames.push_back(frame);
  }
  if (!changes) {
    return stack;
  }
  int32_t below = kBottom;
  for (size_t i = frames.size(); i-- > 0;) {
    frames[i].below = below;
    below = Intern(frames[i]);
  }
  return below;
}

int32_t Machine::Canonical(int32_t state, uint32_t longest) {
  if (!automaton_.has_bounded_loops) {
    return state;
  }
  if (states_[state].canonical == kUnknown) {
    std::vector<int32_t> tops = states_[state].tops;
    for (int32_t& top : tops) {
      if (exhausted()) {
        return state;
      }
      top = CanonicalStack(top, longest + 1);
    }
    std::sort(tops.begin(), tops.end());
    tops.erase(std::unique(tops.begin(), tops.end()), tops.end());
    int32_t canonical = InternState(std::move(tops), states_[state].can_end);
    states_[state].canonical = canonical;
  }
  return states_[state].canonical;
}

bool Machine::Full() const {
  return states_.size() >= kMachineStates ||
         stacks_.size() >= imported_ + kMachineStacks ||
         readings_ >= kMachineReadings;
}

int32_t Machine::Import(const Machine& other, int32_t state) {
  absl::flat_hash_map<int32_t, int32_t> copies;
  copies[kBottom] = kBottom;
  size_t before = stacks_.size();
  std::vector<int32_t> tops;
  std::vector<int32_t> path;
  for (int32_t top : other.states_[state].tops) {
    int32_t at = top;
    for (; !copies.contains(at); at = other.stacks_[at].below) {
      path.push_back(at);
    }
    int32_t below = copies[at];
    for (; !path.empty(); path.pop_back()) {
      Stack frame = other.stacks_[path.back()];
      frame.below = below;
      below = Intern(frame);
      copies[path.back()] = below;
    }
    tops.push_back(below);
  }
  imported_ += stacks_.size() - before;
  return InternState(std::move(tops), other.states_[state].can_end);
}

}  // namespace glm::grammar
