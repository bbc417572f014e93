#include "runtime/text/tool_call_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glm::text {
namespace {

constexpr Marker kArgumentTags[] = {Marker::kKeyOpen, Marker::kKeyClose,
                                    Marker::kValueOpen, Marker::kValueClose};

// The tag that `text`, which begins with '<', begins with. `partial`: there is
// none, but there may be when more text comes.
Marker SpelledTag(std::string_view text, bool& partial) {
  partial = false;
  for (Marker tag : kArgumentTags) {
    if (text.starts_with(MarkerText(tag))) {
      return tag;
    }
    partial = partial || MarkerText(tag).starts_with(text);
  }
  return Marker::kNone;
}

}  // namespace

ToolCallParser::ToolCallParser(const ToolSchemas& tools, bool whole)
    : tools_(tools), whole_(whole), raw_(MarkerText(Marker::kCallOpen)) {}

void ToolCallParser::Text(std::string_view text) {
  if (!committed()) {
    raw_ += text;
  }
  std::string all = std::exchange(held_, "");
  all += text;
  std::string_view rest = all;
  while (!rest.empty() && progress_ == Progress::kOpen) {
    // In a value that a token opened, text is text.
    size_t plain = InValue() && !spelled_ ? rest.size() : rest.find('<');
    plain = std::min(plain, rest.size());
    if (plain == 0) {
      bool partial = false;
      const Marker tag = SpelledTag(rest, partial);
      if (partial) {
        held_ = rest;
        break;
      }
      if (tag != Marker::kNone) {
        Take(tag, /*spelled=*/true);
        rest.remove_prefix(MarkerText(tag).size());
        continue;
      }
      plain = 1;
    }
    Plain(rest.substr(0, plain));
    rest.remove_prefix(plain);
  }
  if (committed()) {
    raw_.clear();
  }
}

bool ToolCallParser::Tag(Marker marker) {
  Plain(std::exchange(held_, ""));
  const bool taken = Take(marker, /*spelled=*/false);
  if (taken) {
    raw_ += MarkerText(marker);
  }
  if (committed()) {
    raw_.clear();
  }
  return taken;
}

void ToolCallParser::End() {
  Plain(std::exchange(held_, ""));
  if (whole_ || refused_) {
    progress_ = Progress::kBroken;
    return;
  }
  if (state_ == State::kAfterValue || state_ == State::kAfterEnd ||
      (state_ == State::kValue && streams_)) {
    EndValue();
  }
  if (begun_) {
    Close();
  } else {
    progress_ = Progress::kBroken;
  }
}

std::string ToolCallParser::TakeArguments() {
  return std::exchange(arguments_, "");
}

std::string ToolCallParser::TakeRaw() { return std::exchange(raw_, ""); }

void ToolCallParser::Plain(std::string_view text) {
  switch (state_) {
    case State::kName:
      AddToName(text);
      return;
    case State::kNameOrKey:
    case State::kKey:
      key_ += text;
      return;
    case State::kAfterKey:
      text = TrimLeft(text);
      if (text.empty()) {
        return;
      }
      OpenValue(/*without_tag=*/true);
      AddToValue(text);
      return;
    case State::kValue:
      AddToValue(text);
      return;
    case State::kAfterValue:
    case State::kAfterEnd:
      tail_ += text;
      if (!Trim(text).empty()) {
        state_ = State::kValue;
        AddToValue(std::exchange(tail_, ""));
      }
      return;
  }
}

bool ToolCallParser::Take(Marker marker, bool spelled) {
  if (refused_ && IsThinkMarker(marker)) {
    return Break();
  }
  if (!InValue()) {
    spelled_ = spelled;
  }
  switch (state_) {
    case State::kName:
    case State::kNameOrKey:
      return TakeInName(marker);
    case State::kKey:
    case State::kAfterKey:
      return TakeInKey(marker);
    case State::kValue:
    case State::kAfterValue:
    case State::kAfterEnd:
      return TakeInValue(marker);
  }
  return true;
}

bool ToolCallParser::TakeInName(Marker marker) {
  if (state_ == State::kNameOrKey) {
    if (marker == Marker::kKeyClose && !Trim(key_).empty()) {
      state_ = State::kAfterKey;
      return true;
    }
    Restart();
    return false;
  }
  switch (marker) {
    case Marker::kKeyOpen:
      if (Trim(name_).empty() && !refused_) {
        return Break();
      }
      refused_ = !NameIsOffered();
      state_ = State::kKey;
      return true;
    case Marker::kCallClose:
      if (!NameIsOffered()) {
        return Break();
      }
      begun_ = true;
      arguments_ = "{";
      Close();
      return true;
    case Marker::kCallOpen:
      if (!NameIsOffered()) {
        return Break();
      }
      second_call_ = raw_.size();
      state_ = State::kNameOrKey;
      return true;
    default:
      return Break();
  }
}

// A key without a value, or a value without a key, breaks the call; one that is
// committed goes on without it.
bool ToolCallParser::TakeInKey(Marker marker) {
  const bool has_key = !Trim(key_).empty();
  switch (marker) {
    case Marker::kKeyOpen:
      if (state_ == State::kAfterKey && !committed()) {
        return Break();
      }
      state_ = State::kKey;
      key_.clear();
      return true;
    case Marker::kKeyClose:
      if (has_key) {
        state_ = State::kAfterKey;
      }
      return true;
    case Marker::kValueOpen:
      if (!has_key && !committed()) {
        return Break();
      }
      OpenValue(/*without_tag=*/false);
      return true;
    case Marker::kValueClose:
      if (state_ == State::kAfterKey) {
        OpenValue(/*without_tag=*/true);
        tail_ = MarkerText(marker);
        state_ = State::kAfterValue;
      }
      return true;
    case Marker::kCallClose:
    case Marker::kCallOpen:
      if (!committed()) {
        return Break();
      }
      Close();
      return marker == Marker::kCallClose;
    default:
      return committed() || Break();
  }
}

bool ToolCallParser::TakeInValue(Marker marker) {
  if (state_ == State::kAfterValue &&
      (marker == Marker::kKeyOpen || marker == Marker::kCallClose)) {
    EndValue();
    if (marker == Marker::kCallClose) {
      Close();
    } else {
      state_ = State::kKey;
      key_.clear();
    }
    return true;
  }
  if (state_ != State::kValue) {  // so what was held is data
    state_ = State::kValue;
    AddToValue(std::exchange(tail_, ""));
  }
  if (without_tag_) {
    if (marker == Marker::kCallClose) {
      value_.resize(TrimRight(value_).size());
      EndValue();
      Close();
      return true;
    }
    if (!committed() &&
        (marker == Marker::kCallOpen || IsThinkMarker(marker))) {
      return Break();
    }
  }
  if (marker == Marker::kValueClose || marker == Marker::kCallClose) {
    state_ =
        marker == Marker::kValueClose ? State::kAfterValue : State::kAfterEnd;
    tail_ = MarkerText(marker);
  } else {
    AddToValue(MarkerText(marker));
  }
  return true;
}

void ToolCallParser::AddToName(std::string_view text) {
  if (refused_) {
    return;
  }
  name_ += name_.empty() ? TrimLeft(text) : text;
  refused_ = !name_.empty() && !tools_.MayBecomeName(name_);
}

// Asked where the name is complete.
bool ToolCallParser::NameIsOffered() {
  name_.resize(TrimRight(name_).size());
  schema_ = refused_ || name_.empty() ? nullptr : tools_.Find(name_);
  return schema_ != nullptr;
}

void ToolCallParser::OpenValue(bool without_tag) {
  state_ = State::kValue;
  key_ = Trim(key_);
  types_ = schema_ == nullptr ? 0 : schema_->Types(key_);
  without_tag_ = without_tag;
  dropped_ = refused_ || key_.empty();
  streams_ = types_ == kStringType && !without_tag && !dropped_;
  value_.clear();
  if (streams_) {
    OpenArgument();
    arguments_ += '"';
  }
}

void ToolCallParser::AddToValue(std::string_view text) {
  if (streams_) {
    arguments_ += JsonStringPart(text);
  } else if (!dropped_) {
    value_ += text;
  }
}

void ToolCallParser::EndValue() {
  if (streams_) {
    arguments_ += '"';
  } else if (!dropped_) {
    OpenArgument();
    arguments_ += ArgumentJson(value_, types_);
  }
}

void ToolCallParser::OpenArgument() {
  absl::StrAppend(&arguments_, begun_ ? ", " : "{", JsonString(key_), ": ");
  begun_ = true;
}

bool ToolCallParser::Break() {
  progress_ = Progress::kBroken;
  return false;
}

void ToolCallParser::Restart() {
  restart_ = raw_.substr(second_call_ + MarkerText(Marker::kCallOpen).size());
  raw_.resize(second_call_);
  progress_ = Progress::kBroken;
}

// Also of refused calls, whose arguments nobody reads.
void ToolCallParser::Close() {
  arguments_ += '}';
  progress_ = Progress::kDone;
}

}  // namespace glm::text
