// `KeyTracker` knows the keys that a JSON text has given to each object that is
// still open: no automaton can, and no key may come twice.
//
// Keys are compared as they are spelled; the rules of keys allow one spelling.
#ifndef GLM_RUNTIME_GRAMMAR_KEY_TRACKER_H_
#define GLM_RUNTIME_GRAMMAR_KEY_TRACKER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"

namespace glm::grammar {

// Not thread-safe. All bytes together are the beginning of a JSON text.
class KeyTracker {
 public:
  void Push(std::string_view bytes);

  // Whether a key is repeated if the text goes on so.
  bool Repeats(std::string_view bytes) const;

  // What, in a key that has begun, may not come next: the rest of each key of
  // the object that begins like it, and `"`.
  std::vector<std::string> ForbiddenRests() const;

 private:
  enum class Event { kNone, kOpen, kClose, kComma, kKeyByte, kKeyEnd };

  // Where in the text the next byte comes, as far as keys need it.
  struct Position {
    bool in_string = false;
    bool escaped = false;
    bool is_key = false;       // the string
    bool key_is_next = false;  // a string would be a key

    // kOpen: of an object if key_is_next. kComma: the caller says whether a
    // key is next.
    Event Push(char byte);
  };

  struct Level {
    bool is_object = false;
    absl::btree_set<std::string> keys;
  };

  Position position_;
  std::vector<Level> levels_;
  std::string key_;  // as far as it has come
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_KEY_TRACKER_H_
