#include "runtime/text/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/tokenizer_json_fields.h"

namespace glm::text {
namespace {

using nlohmann::json;

constexpr size_t kMaxJsonBytes = size_t{256} << 20;
constexpr size_t kMaxTokens = size_t{1} << 20;
constexpr size_t kMaxMerges = size_t{1} << 22;
constexpr size_t kMaxTokenBytes = 16 << 10;

class Reader : private TokenizerJsonFields {
 public:
  explicit Reader(std::string_view file_name)
      : TokenizerJsonFields(file_name) {}

  absl::StatusOr<TokenizerSpec> Read(std::string_view bytes);

 private:
  absl::Status Vocabulary(const json& model);
  absl::Status AddedTokens(const json& root);
  absl::Status Bytes();
  absl::Status Merges(const json& model);
  absl::Status OneMerge(const json& entry, size_t rank);

  TokenizerSpec spec_;
  std::vector<bool> known_;                            // by id
  absl::flat_hash_map<std::string, int32_t> written_;  // as in model.vocab
  absl::flat_hash_set<int32_t> added_ids_;
  absl::flat_hash_set<std::string> added_contents_;
};

absl::Status Reader::Vocabulary(const json& model) {
  auto vocab = model.find("vocab");
  if (vocab == model.end() || !vocab->is_object() || vocab->empty()) {
    return Invalid("model.vocab is no object with tokens");
  }
  auto added = added_ids_.size();
  if (vocab->size() + added > kMaxTokens) {
    return Invalid("model.vocab has ", vocab->size(), " tokens, more than the ",
                   kMaxTokens, " allowed");
  }
  // Ids must be dense, so none may reach the number of tokens.
  size_t limit = vocab->size() + added;
  if (spec_.token_bytes.size() > limit) {
    return Invalid("added token id ", spec_.token_bytes.size() - 1,
                   " leaves ids without token");
  }
  spec_.token_bytes.resize(limit);
  known_.resize(limit, false);
  for (const auto& [text, id_value] : vocab->items()) {
    if (!id_value.is_number_unsigned() ||
        id_value.get<uint64_t>() >= limit) {
      return Invalid("token ", Quoted(text), " has the id ",
                     id_value.dump(-1, ' ', true).substr(0, 40),
                     "; ids must be 0 to ", limit - 1, " without gaps");
    }
    int32_t id = static_cast<int32_t>(id_value.get<uint64_t>());
    if (added_ids_.contains(id)) {
      if (spec_.token_bytes[id] != text) {
        return Invalid("id ", id, " belongs to ", Quoted(text),
                       " in model.vocab and to ",
                       Quoted(spec_.token_bytes[id]), " in added_tokens");
      }
      continue;
    }
    if (added_contents_.contains(text)) {
      return Invalid("added token ", Quoted(text),
                     " has another id in model.vocab");
    }
    if (known_[id]) {
      return Invalid("id ", id, " of token ", Quoted(text),
                     " is used by another token");
    }
    if (text.empty() || text.size() > kMaxTokenBytes) {
      return Invalid("token id ", id, " has ", text.size(),
                     " bytes; 1 to ", kMaxTokenBytes, " are allowed");
    }
    std::optional<std::string> bytes = BytesFromByteLevel(text);
    if (!bytes) {
      return Invalid("token ", Quoted(text),
                     " holds a character outside the byte-level alphabet");
    }
    known_[id] = true;
    spec_.token_bytes[id] = *std::move(bytes);
    written_.emplace(text, id);
  }
  while (!known_.empty() && !known_.back()) {
    known_.pop_back();
  }
  spec_.token_bytes.resize(known_.size());
  auto gap = std::find(known_.begin(), known_.end(), false);
  if (gap != known_.end()) {
    return Invalid("no token has the id ", gap - known_.begin());
  }
  return absl::OkStatus();
}

absl::Status Reader::AddedTokens(const json& root) {
  auto found = root.find("added_tokens");
  if (found == root.end() || found->is_null()) {
    return absl::OkStatus();
  }
  if (!found->is_array() || found->size() > kMaxTokens) {
    return Invalid("added_tokens is no array of at most ", kMaxTokens);
  }
  for (size_t i = 0; i < found->size(); ++i) {
    const json& entry = (*found)[i];
    std::string where = absl::StrCat("added_tokens[", i, "]");
    if (!entry.is_object() || !entry.contains("id") ||
        !entry["id"].is_number_unsigned() || !entry.contains("content") ||
        !entry["content"].is_string()) {
      return Invalid(where, " is no object with id and content");
    }
    TokenizerSpec::AddedToken token;
    token.content = entry["content"].get<std::string>();
    uint64_t id = entry["id"].get<uint64_t>();
    if (id >= kMaxTokens) {
      return Invalid(where, " ", Quoted(token.content), " has the id ", id,
                     ", more than the ", kMaxTokens, " allowed");
    }
    token.id = static_cast<int32_t>(id);
    if (token.content.empty() || token.content.size() > 256) {
      return Invalid(where, " has a content of ", token.content.size(),
                     " bytes; 1 to 256 are allowed");
    }
    for (const char* key : {"single_word", "lstrip", "rstrip"}) {
      GLM_ASSIGN_OR_RETURN(bool flag, Flag(entry, key, where, false));
      if (flag) {
        return Unsupported(where, " ", Quoted(token.content), " with ", key);
      }
    }
    GLM_ASSIGN_OR_RETURN(token.special, Flag(entry, "special", where, false));
    GLM_ASSIGN_OR_RETURN(token.normalized,
                         Flag(entry, "normalized", where, !token.special));
    if (!added_ids_.insert(token.id).second ||
        !added_contents_.insert(token.content).second) {
      return Invalid(where, " ", Quoted(token.content), " with id ", id,
                     " repeats an id or a content");
    }
    if (spec_.token_bytes.size() <= id) {
      spec_.token_bytes.resize(id + 1);
      known_.resize(id + 1, false);
    }
    known_[id] = true;
    spec_.token_bytes[id] = token.content;
    spec_.added_tokens.push_back(std::move(token));
  }
  return absl::OkStatus();
}

absl::Status Reader::Bytes() {
  for (int byte = 0; byte < 256; ++byte) {
    char raw = static_cast<char>(byte);
    auto found = written_.find(BytesToByteLevel({&raw, 1}));
    if (found == written_.end()) {
      return Invalid("model.vocab has no token for the byte ", byte);
    }
    spec_.byte_ids[byte] = found->second;
  }
  return absl::OkStatus();
}

absl::Status Reader::OneMerge(const json& entry, size_t rank) {
  std::string left;
  std::string right;
  if (entry.is_string()) {
    const std::string& both = entry.get_ref<const std::string&>();
    size_t space = both.find(' ');
    if (space == std::string::npos ||
        both.find(' ', space + 1) != std::string::npos) {
      return Invalid("model.merges[", rank, "] ", Quoted(both),
                     " is not two tokens with a space between");
    }
    left = both.substr(0, space);
    right = both.substr(space + 1);
  } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
             entry[1].is_string()) {
    left = entry[0].get<std::string>();
    right = entry[1].get<std::string>();
  } else {
    return Invalid("model.merges[", rank, "] is no pair of tokens");
  }
  Bpe::Merge merge;
  std::string result = left + right;
  for (auto [text, id] : {std::pair{&left, &merge.left},
                          std::pair{&right, &merge.right},
                          std::pair{&result, &merge.result}}) {
    auto found = written_.find(*text);
    if (found == written_.end()) {
      return Invalid("model.merges[", rank, "] names or makes the token ",
                     Quoted(*text),
                     ", which is no ordinary token of model.vocab");
    }
    *id = found->second;
  }
  spec_.merges.push_back(merge);
  return absl::OkStatus();
}

absl::Status Reader::Merges(const json& model) {
  auto merges = model.find("merges");
  if (merges == model.end() || !merges->is_array() ||
      merges->size() > kMaxMerges) {
    return Invalid("model.merges is no array of at most ", kMaxMerges,
                   " merges");
  }
  spec_.merges.reserve(merges->size());
  absl::flat_hash_set<uint64_t> pairs;
  pairs.reserve(merges->size());
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    GLM_RETURN_IF_ERROR(OneMerge((*merges)[rank], rank));
    const Bpe::Merge& merge = spec_.merges.back();
    uint64_t pair = uint64_t{static_cast<uint32_t>(merge.left)} << 32 |
                    static_cast<uint32_t>(merge.right);
    if (!pairs.insert(pair).second) {
      return Invalid("model.merges[", rank, "] repeats an earlier merge");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenizerSpec> Reader::Read(std::string_view bytes) {
  if (bytes.size() > kMaxJsonBytes) {
    return Invalid("the file has ", bytes.size(), " bytes, more than the ",
                   kMaxJsonBytes, " allowed");
  }
  json root = json::parse(bytes.begin(), bytes.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (!root.is_object()) {
    return Invalid("the file is no JSON object; it may be cut short");
  }
  GLM_RETURN_IF_ERROR(ReadTokenizerComponents(root, *this, spec_));
  const json& model = root["model"];
  GLM_RETURN_IF_ERROR(AddedTokens(root));
  GLM_RETURN_IF_ERROR(Vocabulary(model));
  GLM_RETURN_IF_ERROR(Bytes());
  GLM_RETURN_IF_ERROR(Merges(model));
  return std::move(spec_);
}

}  // namespace

absl::StatusOr<TokenizerSpec> ParseTokenizerJson(std::string_view json_bytes,
                                                 std::string_view file_name) {
  return Reader(file_name).Read(json_bytes);
}

}  // namespace glm::text
