// `Detokenizer` turns a stream of token ids into text that can be sent as it
// comes: a character that is spread over several tokens is held until it is
// whole, and bytes that can never become a character are replaced by U+FFFD.
//
// It does not look for stop strings, reasoning or tool calls.
//
// For every way of cutting a sequence, the concatenated results of `Push` and
// the final `Finish` equal the decoding of the whole sequence at once.
//
// Example:
//
//   Detokenizer out(tokenizer, {});
//   for (int32_t id : ids) Send(out.Push(id));
//   Send(out.Finish());
#ifndef GLM_RUNTIME_TEXT_DETOKENIZER_H_
#define GLM_RUNTIME_TEXT_DETOKENIZER_H_

#include <cstdint>
#include <span>
#include <string>

#include "runtime/text/tokenizer.h"
#include "runtime/text/utf8.h"

namespace glm::text {

struct DetokenizerOptions {
  // Leaves out tokens marked special. Added tokens that are not special (tool
  // call markers, where the checkpoint says so) stay.
  bool skip_special = false;
};

// One instance for one sequence and thread. `tokenizer` must outlive it.
class Detokenizer {
 public:
  Detokenizer(const Tokenizer& tokenizer, DetokenizerOptions options)
      : tokenizer_(&tokenizer), options_(options) {}

  // The text that became final by this token: valid UTF-8, often empty. An id
  // that names no token adds nothing.
  std::string Push(int32_t id);

  // The held bytes, if any, as one U+FFFD; afterwards a new sequence may start.
  std::string Finish();

  // Whether bytes of an unfinished character are held.
  bool holds_bytes() const { return decoder_.pending(); }

 private:
  const Tokenizer* tokenizer_;
  DetokenizerOptions options_;
  LossyUtf8Decoder decoder_;
};

// All ids at once.
std::string Decode(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                   DetokenizerOptions options);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_DETOKENIZER_H_
