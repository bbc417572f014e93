// Reading of tokenizer.json: from untrusted bytes to a checked `TokenizerSpec`,
// whose ids are dense and whose merges name existing tokens.
#ifndef GLM_RUNTIME_TEXT_TOKENIZER_JSON_H_
#define GLM_RUNTIME_TEXT_TOKENIZER_JSON_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/text/bpe.h"

namespace glm::text {

struct TokenizerSpec {
  struct AddedToken {
    int32_t id;
    std::string content;
    bool special;
    bool normalized;
  };

  std::vector<std::string> token_bytes;  // by id; an added token's is its text
  std::vector<AddedToken> added_tokens;
  std::array<int32_t, 256> byte_ids;  // the tokens of one byte
  std::vector<Bpe::Merge> merges;     // by rank, no pair twice
  bool ignore_merges = false;
  bool nfc = false;
  std::string split_pattern;  // Oniguruma's syntax
};

// Limits: 256 MiB of JSON, 2^20 tokens, 2^22 merges, 16 KiB a token.
//
// Errors: as Tokenizer::FromJson.
absl::StatusOr<TokenizerSpec> ParseTokenizerJson(std::string_view json_bytes,
                                                 std::string_view file_name);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_TOKENIZER_JSON_H_
