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

uint32_t KeyTracker::Keys::After(uint32_t node, char byte) const {
  for (node = nodes_[node].child; node != kNone; node = nodes_[node].sibling) {
    if (nodes_[node].byte == byte) {
      break;
    }
  }
  return node;
}

uint32_t KeyTracker::Keys::Add(uint32_t node, char byte) {
  if (uint32_t known = After(node, byte); known != kNone) {
    return known;
  }
  auto added = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({byte, false, kNone, nodes_[node].child});
  nodes_[node].child = added;
  return added;
}

std::vector<std::string> KeyTracker::Keys::Rests(uint32_t node,
                                                 size_t longest) const {
  struct Step {
    uint32_t node;
    size_t depth;  // bytes behind the first node
  };
  std::vector<std::string> rests;
  std::vector<Step> todo = {{node, 0}};
  std::string rest;
  while (!todo.empty()) {
    Step step = todo.back();
    todo.pop_back();
    const Node& at = nodes_[step.node];
    if (step.depth > 0) {
      rest.resize(step.depth - 1);
      rest += at.byte;
    }
    if (at.is_key) {
      rests.push_back(rest);
    }
    if (step.depth == longest) {
      continue;
    }
    for (uint32_t child = at.child; child != kNone;
         child = nodes_[child].sibling) {
      todo.push_back({child, step.depth + 1});
    }
  }
  return rests;
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
        key_ = levels_.back().keys.Add(key_, byte);
        break;
      case Event::kKeyEnd:
        levels_.back().keys.MakeKey(std::exchange(key_, Keys::kRoot));
        break;
    }
  }
}

bool KeyTracker::Repeats(std::string_view bytes) const {
  // A key of the last of the old levels: as far as keys of that level go, and
  // what comes then.
  struct Spot {
    uint32_t node = Keys::kRoot;
    std::string rest;
    bool operator==(const Spot&) const = default;
  };
  Position position = position_;
  // Of levels_, the first `old` are still open; those that `bytes` open follow.
  size_t old = levels_.size();
  std::vector<Level> opened;
  Spot key{key_, {}};
  std::vector<Spot> more;        // keys of the last of the old levels
  uint32_t inner = Keys::kRoot;  // the key of the last level that was opened
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
        if (!opened.empty()) {
          inner = opened.back().keys.Add(inner, byte);
        } else if (uint32_t next = levels_[old - 1].keys.After(key.node, byte);
                   key.rest.empty() && next != Keys::kNone) {
          key.node = next;
        } else {
          key.rest += byte;
        }
        break;
      case Event::kKeyEnd:
        if (!opened.empty()) {
          if (!opened.back().keys.MakeKey(std::exchange(inner, Keys::kRoot))) {
            return true;
          }
          break;
        }
        if ((key.rest.empty() && levels_[old - 1].keys.IsKey(key.node)) ||
            std::find(more.begin(), more.end(), key) != more.end()) {
          return true;
        }
        more.push_back(std::exchange(key, {}));
        break;
    }
  }
  return false;
}

std::vector<std::string> KeyTracker::ForbiddenRests(size_t longest) const {
  if (!position_.is_key || longest == 0) {
    return {};
  }
  std::vector<std::string> rests = levels_.back().keys.Rests(key_, longest - 1);
  for (std::string& rest : rests) {
    rest += '"';
  }
  return rests;
}

}  // namespace glm::grammar
