// `Machine` runs an automaton: it turns sets of stacks into numbered states and
// remembers which byte leads from which to which, as it finds out.
//
// States of different counts, such as the characters of a string of at most N,
// are different; Canonical() makes those equal that no token tells apart.
#ifndef GLM_RUNTIME_GRAMMAR_MACHINE_H_
#define GLM_RUNTIME_GRAMMAR_MACHINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/grammar/automaton.h"
#include "runtime/grammar/limits.h"

namespace glm::grammar {

// Not thread-safe. The automaton outlives it and is trimmed.
//
// What one token may cost is counted in stacks and edges that are looked at,
// and limited (limits.h): a token begins with BeginToken(), and from where
// exhausted() is true until the next one nothing that is found out counts.
class Machine {
 public:
  static constexpr int32_t kDead = -1;

  explicit Machine(const Automaton& automaton) : automaton_(automaton) {}

  void BeginToken() { work_ = 0; }
  size_t work() const { return work_; }  // of this token
  bool exhausted() const { return work_ > kMaxTokenWork; }

  // Where texts of `rule` begin.
  int32_t Start(StateId rule) { return Close({{rule, 0, kBottom}}); }
  // The state after one byte; kDead when no text of the language goes on so,
  // when it is exhausted, or, unless `must_know`, past twice its limits, when
  // that is not known.
  int32_t Step(int32_t state, uint8_t byte, bool must_know) {
    const auto& after = states_[state].after;
    if (after != nullptr && (*after)[byte] != kUnknown) {
      return (*after)[byte];
    }
    return FindOut(state, byte, must_know);
  }
  // Whether the text may end here, and whether it must.
  bool CanEnd(int32_t state) const { return states_[state].can_end; }
  bool MustEnd(int32_t state) const { return states_[state].tops.empty(); }
  // A state that allows the same texts of up to `longest` bytes.
  int32_t Canonical(int32_t state, uint32_t longest);

  // Past its limits: time to go on in another machine.
  bool Full() const;
  // The state here that is `state` of a machine of the same automaton.
  int32_t Import(const Machine& other, int32_t state);

 private:
  static constexpr int32_t kUnknown = -2;
  static constexpr int32_t kBottom = -1;

  // A frame on the frames below it; `below` is kBottom or a stack.
  struct Stack {
    StateId state = 0;
    uint32_t count = 0;  // turns of a loop that have begun
    int32_t below = kBottom;

    bool operator==(const Stack&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Stack& s) {
      return H::combine(std::move(h), s.state, s.count, s.below);
    }
  };

  // A set of stacks, all of which wait for a byte.
  struct Known {
    std::vector<int32_t> tops;  // ascending
    bool can_end = false;
    int32_t canonical = kUnknown;
    std::unique_ptr<std::array<int32_t, 256>> after;
  };

  int32_t FindOut(int32_t state, uint8_t byte, bool must_know);
  int32_t Intern(const Stack& stack);
  int32_t InternState(std::vector<int32_t> tops, bool can_end);
  // Adds to `tops` all stacks to which `todo` leads without a byte.
  int32_t Close(std::vector<Stack> todo);
  int32_t CanonicalStack(int32_t stack, uint32_t longest);

  const Automaton& automaton_;
  std::vector<Stack> stacks_;
  std::vector<uint32_t> seen_;  // by stack: the last round that met it
  uint32_t round_ = 0;
  absl::flat_hash_map<Stack, int32_t> stack_ids_;
  std::vector<Known> states_;
  absl::flat_hash_map<std::vector<int32_t>, int32_t> state_ids_;
  size_t readings_ = 0;  // tops of all states
  size_t imported_ = 0;  // stacks that do not count
  size_t work_ = 0;      // since BeginToken
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_MACHINE_H_
