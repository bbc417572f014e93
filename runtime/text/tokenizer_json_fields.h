// Messages and small readings shared by the parts of the tokenizer.json reader.
#ifndef GLM_RUNTIME_TEXT_TOKENIZER_JSON_FIELDS_H_
#define GLM_RUNTIME_TEXT_TOKENIZER_JSON_FIELDS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/tokenizer_json.h"

namespace glm::text {

class TokenizerJsonFields {
 public:
  explicit TokenizerJsonFields(std::string_view file_name)
      : file_name_(file_name) {}

  template <typename... Parts>
  absl::Status Invalid(const Parts&... parts) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name_, ": ", parts...,
                     "; use the tokenizer.json of the checkpoint, unchanged"));
  }
  template <typename... Parts>
  absl::Status Unsupported(const Parts&... parts) const {
    return absl::UnimplementedError(absl::StrCat(
        file_name_, ": ", parts...,
        " is not supported; this runtime reads byte-level BPE tokenizers as "
        "GLM and Qwen checkpoints have them"));
  }

  // A boolean member; absent or null, it is `otherwise`.
  absl::StatusOr<bool> Flag(const nlohmann::json& object, const char* key,
                            std::string_view where, bool otherwise) const;

  // The member "type" of a component.
  absl::StatusOr<std::string> Type(const nlohmann::json& component,
                                   std::string_view where) const;

  // The value, in quotes and at a length that suits a message.
  static std::string Quoted(std::string_view text);

 private:
  std::string file_name_;
};

// Checks every component but vocabulary, merges and added tokens, and fills
// `spec` with what they ask for.
absl::Status ReadTokenizerComponents(const nlohmann::json& root,
                                     const TokenizerJsonFields& fields,
                                     TokenizerSpec& spec);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_TOKENIZER_JSON_FIELDS_H_
