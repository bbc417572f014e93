// `Tokenizer` turns text into token ids and back into bytes, from the
// tokenizer.json of a checkpoint (byte-level BPE, the Hugging Face layout).
//
// It is not a general reader of that layout: what a GLM or Qwen checkpoint
// needs is implemented exactly, and every other component is refused by name.
// It adds no begin or end token, and it knows nothing of chats: chat_format.h
// builds prompts, detokenizer.h turns a stream of ids into text.
//
// Implemented:
//   model          BPE over bytes, `ignore_merges`, merges as pairs or "a b"
//   added_tokens   special or not, matched before BPE, leftmost then longest
//   normalizer     none, NFC
//   pre_tokenizer  Sequence[Split{Regex, Isolated}, ByteLevel], ByteLevel
//   post_processor none, ByteLevel (which changes offsets only)
//
// Example:
//
//   GLM_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
//                        Tokenizer::FromJson(bytes, "tokenizer.json"));
//   GLM_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
//                        tokenizer->Encode("Hello", {}));
#ifndef GLM_RUNTIME_TEXT_TOKENIZER_H_
#define GLM_RUNTIME_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/text/added_tokens.h"
#include "runtime/text/bpe.h"
#include "runtime/text/pre_tokenizer.h"

namespace glm::text {

struct TokenizerSpec;

struct EncodeOptions {
  // Whether text that spells an added token ("<|user|>") becomes that token.
  // True only for text that the program itself wrote: with user text it lets
  // the user write the structure of the prompt.
  bool parse_added_tokens = false;
  // What comes after so many ids is not encoded: a result that has more of them
  // says no more than that the whole one has. A limit bounds the work too: a
  // piece that cannot fit is not merged, and one of more than kMostPieceBytes
  // that might is an error.
  size_t most_ids = SIZE_MAX;
};

// Of text without a place where it is split, such as one run of letters. Merges
// take about 1.5 us a byte.
inline constexpr size_t kMostPieceBytes = 1 << 20;

// Const members may be called from any number of threads.
class Tokenizer {
 public:
  // `file_name` only opens the error messages.
  //
  // Errors: kInvalidArgument (not JSON, contradictory, out of the limits),
  // kUnimplemented (a component of another kind; the message names it).
  static absl::StatusOr<std::unique_ptr<Tokenizer>> FromJson(
      std::string_view json_bytes, std::string_view file_name);

  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Ids of `text`. Bytes that are not UTF-8 are read as the reference library
  // receives them: one U+FFFD for each maximal invalid part (utf8.h). Time and
  // memory are near-linear in the size of `text`.
  //
  // Errors: kResourceExhausted when the pre-tokenizer's regex gives up on this
  // text; the patterns of GLM and Qwen never do. kInvalidArgument: a piece is
  // too long (EncodeOptions).
  absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text,
                                              EncodeOptions options) const;

  // One stretch of a prompt whose parts differ in trust.
  struct Span {
    std::string_view text;
    bool parse_added_tokens = false;
  };

  // Ids of the concatenation of `spans`. Added tokens are found only in spans
  // that allow them, and never across a border; elsewhere borders leave no
  // trace, so a prompt without literal control tokens gets the very ids of
  // `Encode` on the whole string.
  // `most_ids` as in EncodeOptions.
  absl::StatusOr<std::vector<int32_t>> EncodeSpans(
      const std::vector<Span>& spans, size_t most_ids = SIZE_MAX) const;

  // No text of `bytes` bytes has fewer ids than this.
  size_t LeastIds(size_t bytes) const;

  // The bytes that the token stands for: not always valid UTF-8 alone. Empty
  // for an id outside [0, vocab_size), such as the padding rows of a model.
  std::string_view TokenBytes(int32_t id) const;

  // Whether the id is an added token, and one marked special.
  bool IsAdded(int32_t id) const;
  bool IsSpecial(int32_t id) const;

  // The token that stands for exactly these bytes; added tokens win.
  std::optional<int32_t> TokenId(std::string_view bytes) const;

  // Largest id + 1, added tokens included.
  int32_t vocab_size() const { return static_cast<int32_t>(bytes_.size()); }

 private:
  Tokenizer() = default;
  absl::Status Build(TokenizerSpec spec, std::string_view file_name);

  // Text without added tokens: normalise, split, merge; ids are appended.
  absl::Status AppendPlain(std::string_view text, bool parse_added_tokens,
                           size_t most_ids, std::vector<int32_t>& ids) const;
  absl::Status AppendPieces(std::string_view text, size_t most_ids,
                            std::vector<int32_t>& ids) const;

  std::vector<std::string> bytes_;  // by id
  std::vector<uint8_t> flags_;      // by id
  // Views into bytes_. Tokens that a piece of the same bytes is encoded to.
  absl::flat_hash_map<std::string_view, int32_t, std::hash<std::string_view>>
      whole_pieces_;
  absl::flat_hash_map<std::string_view, int32_t, std::hash<std::string_view>>
      ids_;
  AddedTokenMatcher raw_tokens_;         // `normalized` false: on the text
  AddedTokenMatcher normalized_tokens_;  // `normalized` true: after NFC
  Bpe bpe_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  bool nfc_ = false;
  size_t longest_ = 1;         // bytes of text that one id stands for
  size_t longest_merged_ = 1;  // of a piece, after NFC
};

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_TOKENIZER_H_
