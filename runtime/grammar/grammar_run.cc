#include "runtime/grammar/grammar_run.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "runtime/base/status_macros.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/schema_compiler.h"

namespace glm::grammar {
namespace {

void Clear(std::span<uint64_t> words, int32_t id) {
  auto word = static_cast<size_t>(id) / 64;
  if (word < words.size()) {
    words[word] &= ~(uint64_t{1} << (id % 64));
  }
}

bool Has(std::span<const uint64_t> words, int32_t id) {
  auto word = static_cast<size_t>(id) / 64;
  return word < words.size() && (words[word] >> (id % 64) & 1) != 0;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const JsonGrammar>> JsonGrammar::FromSchema(
    const nlohmann::ordered_json& schema) {
  GLM_ASSIGN_OR_RETURN(Automaton automaton, CompileSchema(schema));
  return std::make_shared<const CompiledGrammar>(std::move(automaton));
}

std::shared_ptr<const JsonGrammar> JsonGrammar::AnyObject() {
  static const std::shared_ptr<const JsonGrammar> any =
      *FromSchema({{"type", "object"}});
  return any;
}

const std::vector<uint64_t>* SharedMachine::MaskOf(
    const std::shared_ptr<const VocabularyTree>& vocabulary, int32_t state) {
  state = machine.Canonical(state, vocabulary->longest());
  Key key{vocabulary.get(), state};
  if (auto known = by_key.find(key); known != by_key.end()) {
    masks.splice(masks.begin(), masks, known->second);
    return &masks.front().words;
  }
  std::vector<uint64_t> words(vocabulary->words(), 0);
  std::vector<int32_t> states(vocabulary->longest() + 1);  // by depth
  states[0] = state;
  auto nodes = vocabulary->nodes();
  auto tokens = vocabulary->tokens();
  // Bytes first: whatever limit is met, one of them can come.
  for (int byte = 0; byte < 256; ++byte) {
    machine.Step(state, static_cast<uint8_t>(byte), true);
  }
  for (size_t i = 0; i + 1 < nodes.size();) {
    const VocabularyTree::Node& node = nodes[i];
    int32_t next = machine.Step(states[node.depth - 1], node.byte, false);
    if (next == Machine::kDead) {
      if (machine.exhausted()) {
        break;
      }
      i = node.end;
      continue;
    }
    states[node.depth] = next;
    ++i;
    for (uint32_t t = node.tokens; t < nodes[i].tokens; ++t) {
      words[static_cast<size_t>(tokens[t]) / 64] |= uint64_t{1}
                                                    << (tokens[t] % 64);
    }
  }
  if (machine.exhausted()) {
    return nullptr;
  }
  if (masks.size() >= max_masks) {
    by_key.erase(masks.back().key);
    masks.pop_back();
  }
  masks.push_front({key, vocabulary, std::move(words)});
  by_key[key] = masks.begin();
  return &masks.front().words;
}

std::shared_ptr<SharedMachine> CompiledGrammar::MachineBut(
    const SharedMachine* full) const {
  std::lock_guard lock(mutex_);
  bool is_full = current_.get() == full;
  if (!is_full) {
    std::lock_guard machine_lock(current_->mutex);
    is_full = current_->machine.Full();
  }
  if (is_full) {
    current_ = std::make_shared<SharedMachine>(automaton_, max_masks_);
  }
  return current_;
}

bool CompiledGrammar::Matches(std::string_view text) const {
  GrammarRun run(*this);
  for (char c : text) {  // each with work of its own
    if (!run.Push({&c, 1})) {
      return false;
    }
  }
  return run.CanEnd();
}

GrammarRun::GrammarRun(const CompiledGrammar& grammar, StateId rule,
                       bool tracks_keys)
    : grammar_(grammar),
      shared_(grammar.MachineBut(nullptr)),
      tracks_keys_(tracks_keys) {
  std::lock_guard lock(shared_->mutex);
  shared_->machine.BeginToken();
  state_ = shared_->machine.Start(rule);
  exhausted_ = shared_->machine.exhausted();
}

bool GrammarRun::IsFull() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->machine.Full();
}

bool GrammarRun::Push(std::string_view bytes) {
  if (exhausted_) {
    return false;
  }
  for (size_t at = 0; at < bytes.size();) {
    if (IsFull()) {
      std::shared_ptr<SharedMachine> next = grammar_.MachineBut(shared_.get());
      // Always from older to newer: no two threads wait for each other.
      std::lock_guard old_lock(shared_->mutex);
      std::lock_guard new_lock(next->mutex);
      state_ = next->machine.Import(shared_->machine, state_);
      shared_.swap(next);
    }
    std::lock_guard lock(shared_->mutex);
    shared_->machine.BeginToken();
    for (bool full = false; at < bytes.size() && !full; ++at) {
      state_ =
          shared_->machine.Step(state_, static_cast<uint8_t>(bytes[at]), true);
      if (state_ == Machine::kDead) {
        exhausted_ = shared_->machine.exhausted();
        return false;
      }
      full = shared_->machine.Full();
    }
  }
  if (tracks_keys_) {
    if (keys_.Repeats(bytes)) {
      return false;
    }
    keys_.Push(bytes);
  }
  return true;
}

bool GrammarRun::CanEnd() {
  if (state_ == Machine::kDead) {
    return false;
  }
  std::lock_guard lock(shared_->mutex);
  return shared_->machine.CanEnd(state_);
}

void GrammarRun::Allow(const std::shared_ptr<const VocabularyTree>& vocabulary,
                       std::span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  if (exhausted_ || state_ == Machine::kDead) {
    return;
  }
  {
    std::lock_guard lock(shared_->mutex);
    shared_->machine.BeginToken();
    const std::vector<uint64_t>* mask = shared_->MaskOf(vocabulary, state_);
    if (mask == nullptr) {
      exhausted_ = true;
      return;
    }
    std::copy_n(mask->begin(), std::min(mask->size(), words.size()),
                words.begin());
  }
  if (!tracks_keys_) {
    return;
  }
  for (const std::string& rest : keys_.ForbiddenRests(vocabulary->longest())) {
    for (int32_t id : vocabulary->TokensFrom(rest)) {
      Clear(words, id);
    }
  }
  for (int32_t id : vocabulary->with_quotes()) {
    if (Has(words, id) && keys_.Repeats(vocabulary->Bytes(id))) {
      Clear(words, id);
    }
  }
}

}  // namespace glm::grammar
