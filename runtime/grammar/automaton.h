// A pushdown automaton over bytes: what a schema is compiled to.
//
// A rule is a state from which every way ends in kReturn; it is entered by
// kCall and kLoop, which say where to go on after it. A state may have several
// ways for one byte; machine.h follows all of them.
#ifndef GLM_RUNTIME_GRAMMAR_AUTOMATON_H_
#define GLM_RUNTIME_GRAMMAR_AUTOMATON_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace glm::grammar {

using StateId = uint32_t;

inline constexpr uint32_t kUnbounded = UINT32_MAX;
inline constexpr uint64_t kNever = UINT64_MAX;

struct ByteEdge {
  uint8_t low = 0;
  uint8_t high = 0;  // inclusive
  StateId to = 0;
};

struct State {
  enum class Kind : uint8_t {
    kBytes,   // one byte of `edges`; with none of them, nothing
    kSplit,   // one of `next`, without a byte
    kCall,    // next[0] is a rule, then next[1]
    kLoop,    // next[0] is a rule, `min` to `max` times, then next[1]
    kReturn,  // the end of a rule
  };
  Kind kind = Kind::kBytes;
  uint32_t min = 0;
  uint32_t max = kUnbounded;
  std::vector<ByteEdge> edges;
  std::vector<StateId> next;
};

class Automaton {
 public:
  // The one state of kReturn.
  static constexpr StateId kReturnState = 0;

  Automaton();

  // Each returns the new state, and kReturnState once there are too many:
  // overflowed() tells, and the automaton is then good for nothing.
  StateId AddBytes(std::vector<ByteEdge> edges = {});
  StateId AddSplit(std::vector<StateId> next = {});
  StateId AddCall(StateId rule, StateId then);
  // The rule never matches the empty text.
  StateId AddLoop(StateId rule, uint32_t min, uint32_t max, StateId then);
  StateId AddByte(uint8_t byte, StateId then);
  StateId AddText(std::string_view text, StateId then);
  // What `text` begins is there already or is added: a tree of texts. `root`
  // and what it leads to were made by AddBytes and this function alone.
  StateId AddToTree(StateId root, std::string_view text);

  State& operator[](StateId id) { return states_[id]; }
  const State& operator[](StateId id) const { return states_[id]; }
  size_t size() const { return states_.size(); }
  bool overflowed() const { return overflowed_; }

  // Removes all ways that lead to no end: afterwards each state that can be
  // reached is on the way to one. Returns the bytes of the shortest way from
  // each state to the end of its rule; kNever where there is none.
  std::vector<uint64_t> Trim();

  StateId root = kReturnState;
  uint64_t least_bytes = 0;        // of a text from `root`
  bool has_free_keys = false;      // key_tracker.h is needed
  bool has_bounded_loops = false;  // counts tell states apart

 private:
  StateId Add(State state);
  std::vector<uint64_t> LeastBytes() const;

  std::vector<State> states_;
  bool overflowed_ = false;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_AUTOMATON_H_
