#include "runtime/grammar/key_tracker.h"

#include <algorithm>
#include <utility>

namespace glm::grammar {

KeyTracker::Event KeyTracker::Position::Push(char byte) {
  if (in_string) {
    bool ends = byte == '"' && !escaped;
    escaped = byte == '\\' && !escaped;
    if (!ends) {
      return is_key ? Event::kKeyByte : Event::kNone;
    }
    in_string = false;
    return std::exchange(is_key, false) ? Event::kKeyEnd : Event::kNone;
  }
  switch (byte) {
    case '"':
      in_string = true;
      is_key = std::exchange(key_is_next, false);
      return Event::kNone;
    case '{':
    case '[':
      key_is_next = byte == '{';
      return Event::kOpen;
    case '}':
    case ']':
      key_is_next = false;
      return Event::kClose;
    case ',':
      return Event::kComma;
    default:
      return Event::kNone;
  }
}

void KeyTracker::Push(std::string_view bytes) {
  for (char byte : bytes) {
    switch (position_.Push(byte)) {
      case Event::kNone:
        break;
      case Event::kOpen:
        levels_.emplace_back();
        levels_.back().is_object = position_.key_is_next;
        break;
      case Event::kClose:
        if (!levels_.empty()) {
          levels_.pop_back();
        }
        break;
      case Event::kComma:
        position_.key_is_next = !levels_.empty() && levels_.back().is_object;
        break;
      case Event::kKeyByte:
        key_ += byte;
        break;
      case Event::kKeyEnd:
        levels_.back().keys.insert(std::exchange(key_, {}));
        break;
    }
  }
}

bool KeyTracker::Repeats(std::string_view bytes) const {
  Position position = position_;
  std::string key = key_;
  // Of levels_, the first `old` are still open; those that `bytes` open follow.
  size_t old = levels_.size();
  std::vector<Level> opened;
  std::vector<std::string> more;  // keys of the last of the old ones
  for (char byte : bytes) {
    switch (position.Push(byte)) {
      case Event::kNone:
        break;
      case Event::kOpen:
        opened.emplace_back();
        opened.back().is_object = position.key_is_next;
        break;
      case Event::kClose:
        if (!opened.empty()) {
          opened.pop_back();
        } else if (old > 0) {
          --old;
          more.clear();
        }
        break;
      case Event::kComma:
        position.key_is_next = !opened.empty()
                                   ? opened.back().is_object
                                   : old > 0 && levels_[old - 1].is_object;
        break;
      case Event::kKeyByte:
        key += byte;
        break;
      case Event::kKeyEnd:
        if (!opened.empty()) {
          if (!opened.back().keys.insert(key).second) {
            return true;
          }
        } else {
          if (levels_[old - 1].keys.contains(key) ||
              std::find(more.begin(), more.end(), key) != more.end()) {
            return true;
          }
          more.push_back(key);
        }
        key.clear();
        break;
    }
  }
  return false;
}

std::vector<std::string> KeyTracker::ForbiddenRests() const {
  std::vector<std::string> rests;
  if (!position_.is_key) {
    return rests;
  }
  const auto& keys = levels_.back().keys;
  for (auto at = keys.lower_bound(key_);
       at != keys.end() && at->starts_with(key_); ++at) {
    rests.push_back(at->substr(key_.size()) + '"');
  }
  return rests;
}

}  // namespace glm::grammar
