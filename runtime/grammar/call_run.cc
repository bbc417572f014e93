#include "runtime/grammar/call_run.h"

#include <algorithm>
#include <utility>

namespace glm::grammar {

using text::Marker;

CallRun::CallRun(const CompiledTools& tools, std::string_view only,
                 std::shared_ptr<const VocabularyTree> vocabulary)
    : vocabulary_(std::move(vocabulary)) {
  for (const CompiledTool& tool : tools.tools()) {
    if (only.empty() || tool.name == only) {
      named_.push_back(&tool);
      texts_.push_back(tool.name);
    }
  }
  last_ = texts_.size();
}

void CallRun::Let(Marker marker, std::span<uint64_t> words) const {
  const int32_t id = vocabulary_->markers().Id(marker);
  if (id >= 0 && static_cast<size_t>(id) / 64 < words.size()) {
    words[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  }
}

void CallRun::AllowText(std::span<uint64_t> words) const {
  vocabulary_->AllowTexts(std::span(texts_).subspan(first_, last_ - first_),
                          text_.size(), words);
}

bool CallRun::PushText(std::string_view bytes) {
  text_ += bytes;
  const auto begin = texts_.begin() + static_cast<ptrdiff_t>(first_);
  const auto end = texts_.begin() + static_cast<ptrdiff_t>(last_);
  const auto low = std::lower_bound(begin, end, std::string_view(text_));
  const auto high = std::find_if_not(
      low, end, [&](std::string_view t) { return t.starts_with(text_); });
  first_ = static_cast<size_t>(low - texts_.begin());
  last_ = static_cast<size_t>(high - texts_.begin());
  return first_ < last_;
}

const CompiledTool* CallRun::NamedTool() const {
  return first_ < last_ && texts_[first_] == text_ ? named_[first_] : nullptr;
}

// Null: no key ends here.
const ToolArgument* CallRun::KeyedArgument() const {
  if (first_ < last_ && texts_[first_] == text_) {
    const auto found = std::lower_bound(
        tool_->arguments.begin(), tool_->arguments.end(), text_,
        [](const ToolArgument& a, const std::string& key) {
          return a.key < key;
        });
    return &*found;
  }
  const bool is_new =
      std::find(used_.begin(), used_.end(), text_) == used_.end();
  return key_run_ && !text_.empty() && is_new ? &*tool_->others : nullptr;
}

bool CallRun::NeedsMore() const {
  return std::any_of(tool_->arguments.begin(), tool_->arguments.end(),
                     [&](const ToolArgument& argument) {
                       return argument.required &&
                              std::find(used_.begin(), used_.end(),
                                        argument.key) == used_.end();
                     });
}

bool CallRun::MayHaveMore() const {
  return tool_->others.has_value() || used_.size() < tool_->arguments.size();
}

void CallRun::BeginKey() {
  texts_.clear();
  for (const ToolArgument& argument : tool_->arguments) {
    if (std::find(used_.begin(), used_.end(), argument.key) == used_.end()) {
      texts_.push_back(argument.key);
    }
  }
  first_ = 0;
  last_ = texts_.size();
  text_.clear();
  if (tool_->others.has_value()) {
    key_run_.emplace(*tool_->grammar, tool_->other_keys, false);
  }
  state_ = State::kKey;
}

void CallRun::BeginValue() {
  key_run_.reset();
  value_run_.emplace(*tool_->grammar, argument_->rule, argument_->tracks_keys);
  state_ = State::kValue;
}

void CallRun::Allow(std::span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  switch (state_) {
    case State::kName: {
      AllowText(words);
      if (const CompiledTool* tool = NamedTool()) {
        const bool some = tool->others || !tool->arguments.empty();
        if (some) Let(Marker::kKeyOpen, words);
        if (std::none_of(tool->arguments.begin(), tool->arguments.end(),
                         [](const auto& a) { return a.required; })) {
          Let(Marker::kCallClose, words);
        }
      }
      return;
    }
    case State::kKey:
      if (key_run_) key_run_->Allow(vocabulary_, words);
      AllowText(words);
      if (KeyedArgument() != nullptr) Let(Marker::kKeyClose, words);
      return;
    case State::kAfterKey:
      return Let(Marker::kValueOpen, words);
    case State::kValue:
      value_run_->Allow(vocabulary_, words);
      if (value_run_->CanEnd()) Let(Marker::kValueClose, words);
      return;
    case State::kAfterValue:
      if (MayHaveMore()) Let(Marker::kKeyOpen, words);
      if (!NeedsMore()) Let(Marker::kCallClose, words);
      return;
  }
}

CallRun::Progress CallRun::Accept(int32_t id) {
  const Marker marker = vocabulary_->markers().Of(id);
  const std::string_view bytes = vocabulary_->Bytes(id);
  if (marker == Marker::kNone && bytes.empty()) return Progress::kWrong;
  bool right = false;
  switch (state_) {
    case State::kName:
      if (marker == Marker::kNone) {
        right = PushText(bytes);
        break;
      }
      tool_ = NamedTool();
      if (tool_ == nullptr) break;
      if (marker == Marker::kCallClose && !NeedsMore()) return Progress::kDone;
      right = marker == Marker::kKeyOpen && MayHaveMore();
      if (right) BeginKey();
      break;
    case State::kKey:
      if (marker == Marker::kNone) {
        right = PushText(bytes);
        if (key_run_ && key_run_->Push(bytes)) {
          right = true;
        } else if (key_run_ && !key_run_->exhausted()) {
          key_run_.reset();
        }
        break;
      }
      argument_ = marker == Marker::kKeyClose ? KeyedArgument() : nullptr;
      right = argument_ != nullptr;
      if (right) {
        used_.push_back(text_);
        state_ = State::kAfterKey;
      }
      break;
    case State::kAfterKey:
      right = marker == Marker::kValueOpen;
      if (right) BeginValue();
      break;
    case State::kValue:
      if (marker == Marker::kNone) {
        right = value_run_->Push(bytes);
        break;
      }
      right = marker == Marker::kValueClose && value_run_->CanEnd();
      if (right) state_ = State::kAfterValue;
      break;
    case State::kAfterValue:
      if (marker == Marker::kCallClose && !NeedsMore()) return Progress::kDone;
      right = marker == Marker::kKeyOpen && MayHaveMore();
      if (right) BeginKey();
      break;
  }
  return right ? Progress::kOpen : Progress::kWrong;
}

}  // namespace glm::grammar
