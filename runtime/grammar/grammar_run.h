// `GrammarRun` is one text on its way through a grammar: the machine that all
// texts of a grammar share, and where in it this one is.
#ifndef GLM_RUNTIME_GRAMMAR_GRAMMAR_RUN_H_
#define GLM_RUNTIME_GRAMMAR_GRAMMAR_RUN_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/grammar/automaton.h"
#include "runtime/grammar/json_grammar.h"
#include "runtime/grammar/key_tracker.h"
#include "runtime/grammar/machine.h"
#include "runtime/grammar/vocabulary.h"

namespace glm::grammar {

// A machine and the masks of its states, the latest used kept.
struct SharedMachine {
  SharedMachine(const Automaton& automaton, size_t max_masks)
      : machine(automaton), max_masks(max_masks) {}

  using Key = std::pair<const VocabularyTree*, int32_t>;
  struct Mask {
    Key key;
    std::shared_ptr<const VocabularyTree> vocabulary;  // keeps it in place
    std::vector<uint64_t> words;
  };

  // Tokens that may come in `state`; valid until the next call; null when the
  // machine is exhausted. The mutex is held.
  const std::vector<uint64_t>* MaskOf(
      const std::shared_ptr<const VocabularyTree>& vocabulary, int32_t state);

  std::mutex mutex;  // of all below
  Machine machine;
  const size_t max_masks;
  std::list<Mask> masks;  // latest first
  absl::flat_hash_map<Key, std::list<Mask>::iterator> by_key;
};

class CompiledGrammar : public JsonGrammar {
 public:
  explicit CompiledGrammar(Automaton automaton,
                           size_t max_masks = kMaxCachedMasks)
      : automaton_(std::move(automaton)),
        max_masks_(max_masks),
        current_(std::make_shared<SharedMachine>(automaton_, max_masks)) {}

  bool Matches(std::string_view text) const override;
  uint64_t LeastBytes() const override { return automaton_.least_bytes; }

  const Automaton& automaton() const { return automaton_; }
  // The machine for new texts, and for those of `full`.
  std::shared_ptr<SharedMachine> MachineBut(const SharedMachine* full) const;

 private:
  const Automaton automaton_;
  const size_t max_masks_;
  mutable std::mutex mutex_;  // of current_
  mutable std::shared_ptr<SharedMachine> current_;
};

// Not thread-safe; the grammar outlives it.
class GrammarRun {
 public:
  explicit GrammarRun(const CompiledGrammar& grammar)
      : GrammarRun(grammar, grammar.automaton().root,
                   grammar.automaton().has_free_keys) {}
  // Texts of one rule. `tracks_keys`: they are JSON, with keys that no schema
  // names.
  GrammarRun(const CompiledGrammar& grammar, StateId rule, bool tracks_keys);

  // Whether some text of the grammar goes on with `bytes`; if not, the run is
  // over.
  bool Push(std::string_view bytes);
  bool CanEnd();

  // Sets the bits of tokens that may come next and clears all others.
  void Allow(const std::shared_ptr<const VocabularyTree>& vocabulary,
             std::span<uint64_t> words);

  // One of the calls above met the limit of work: what it said is worth
  // nothing.
  bool exhausted() const { return exhausted_; }

 private:
  bool IsFull() const;  // the machine

  const CompiledGrammar& grammar_;
  std::shared_ptr<SharedMachine> shared_;
  int32_t state_;
  bool tracks_keys_;
  bool exhausted_ = false;
  KeyTracker keys_;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_GRAMMAR_RUN_H_
