// `KeyTracker` knows the keys that a JSON text has given to each object that is
// still open: no automaton can, and no key may come twice.
//
// Keys are compared as they are spelled; the rules of keys allow one spelling.
// Each byte costs the same, however long its key is.
#ifndef GLM_RUNTIME_GRAMMAR_KEY_TRACKER_H_
#define GLM_RUNTIME_GRAMMAR_KEY_TRACKER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glm::grammar {

// Not thread-safe. All bytes together are the beginning of a JSON text.
class KeyTracker {
 public:
  void Push(std::string_view bytes);

  // Whether a key is repeated if the text goes on so.
  bool Repeats(std::string_view bytes) const;

  // What, in a key that has begun, may not come next: the rest of each key of
  // the object that begins like it, and `"`; of those of up to `longest` bytes.
  std::vector<std::string> ForbiddenRests(size_t longest) const;

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

  // The keys of an object, as a tree of their bytes; node 0 is its root. The
  // key that comes is written into it as far as it is known.
  class Keys {
   public:
    static constexpr uint32_t kNone = UINT32_MAX;
    static constexpr uint32_t kRoot = 0;

    // kNone where no key goes on so.
    uint32_t After(uint32_t node, char byte) const;
    uint32_t Add(uint32_t node, char byte);
    bool IsKey(uint32_t node) const { return nodes_[node].is_key; }
    // False when it was one.
    bool MakeKey(uint32_t node) {
      return !std::exchange(nodes_[node].is_key, true);
    }
    // What leads from `node` to keys, in up to `longest` bytes.
    std::vector<std::string> Rests(uint32_t node, size_t longest) const;

   private:
    struct Node {
      char byte = 0;
      bool is_key = false;
      uint32_t child = kNone;    // the latest
      uint32_t sibling = kNone;  // an earlier child of the same node
    };
    std::vector<Node> nodes_ = std::vector<Node>(1);
  };

  struct Level {
    bool is_object = false;
    Keys keys;
  };

  Position position_;
  std::vector<Level> levels_;
  uint32_t key_ = Keys::kRoot;  // in the last level, as far as it has come
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_KEY_TRACKER_H_
