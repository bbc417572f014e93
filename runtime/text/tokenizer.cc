#include "runtime/text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/text/nfc.h"
#include "runtime/text/tokenizer_json.h"
#include "runtime/text/utf8.h"

namespace glm::text {
namespace {

constexpr uint8_t kAdded = 1;
constexpr uint8_t kSpecial = 2;
// NFC shortens text at most from seven bytes to two (U+1FBE U+0308 U+0301).
constexpr size_t kNfcShortens = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(
    std::string_view json_bytes, std::string_view file_name) {
  GLM_ASSIGN_OR_RETURN(TokenizerSpec spec,
                       ParseTokenizerJson(json_bytes, file_name));
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer);
  GLM_RETURN_IF_ERROR(tokenizer->Build(std::move(spec), file_name));
  return tokenizer;
}

absl::Status Tokenizer::Build(TokenizerSpec spec, std::string_view file_name) {
  absl::StatusOr<std::unique_ptr<PreTokenizer>> splitter =
      PreTokenizer::Create(spec.split_pattern);
  if (!splitter.ok()) {
    return absl::Status(splitter.status().code(),
                        absl::StrCat(std::string(file_name), ": ",
                                     splitter.status().message()));
  }
  pre_tokenizer_ = *std::move(splitter);
  nfc_ = spec.nfc;
  bytes_ = std::move(spec.token_bytes);
  flags_.resize(bytes_.size(), 0);
  for (const std::string& bytes : bytes_) {
    longest_ = std::max(longest_, bytes.size());
  }
  std::string buffer;
  for (const TokenizerSpec::AddedToken& added : spec.added_tokens) {
    flags_[added.id] = kAdded | (added.special ? kSpecial : 0);
    if (added.normalized) {
      const std::string_view content =
          nfc_ ? Nfc(added.content, buffer) : std::string_view(added.content);
      normalized_tokens_.Add(content, added.id);
      longest_ = std::max(longest_, content.size());
    } else {
      raw_tokens_.Add(added.content, added.id);
    }
  }
  if (nfc_) longest_ *= kNfcShortens;
  for (int32_t id = 0; id < vocab_size(); ++id) {
    if (!IsAdded(id)) {
      longest_merged_ = std::max(longest_merged_, bytes_[id].size());
    }
  }
  bpe_ = Bpe(spec.byte_ids, spec.merges);
  // A piece that is one token is looked up whole. Without ignore_merges that is
  // right only for tokens that the merges do arrive at.
  std::vector<int32_t> ids;
  ids_.reserve(bytes_.size());
  whole_pieces_.reserve(bytes_.size());
  for (int32_t id = 0; id < vocab_size(); ++id) {
    if (IsAdded(id)) {
      ids_.insert_or_assign(bytes_[id], id);
      continue;
    }
    ids_.emplace(bytes_[id], id);
    ids.clear();
    if (!spec.ignore_merges) {
      bpe_.Append(bytes_[id], ids);
    }
    if (spec.ignore_merges || (ids.size() == 1 && ids[0] == id)) {
      whole_pieces_.emplace(bytes_[id], id);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> Tokenizer::Encode(
    std::string_view text, EncodeOptions options) const {
  return EncodeSpans({{text, options.parse_added_tokens}}, options.most_ids);
}

size_t Tokenizer::LeastIds(size_t bytes) const {
  return (bytes + longest_ - 1) / longest_;
}

absl::StatusOr<std::vector<int32_t>> Tokenizer::EncodeSpans(
    const std::vector<Span>& spans, size_t most_ids) const {
  std::vector<int32_t> ids;
  // Text since the last added token, and whether all of it may hold tokens of
  // the `normalized` kind.
  std::string plain;
  bool parse_plain = true;
  auto flush = [&]() -> absl::Status {
    GLM_RETURN_IF_ERROR(AppendPlain(plain, parse_plain, most_ids, ids));
    plain.clear();
    parse_plain = true;
    return absl::OkStatus();
  };
  for (const Span& span : spans) {
    if (ids.size() > most_ids) return ids;
    std::string repaired;
    std::string_view text = span.text;
    if (ValidUtf8Prefix(text) != text.size()) {
      repaired = LossyUtf8(text);
      text = repaired;
    }
    size_t position = 0;
    while (span.parse_added_tokens) {
      std::optional<AddedTokenMatcher::Match> match =
          raw_tokens_.Find(text, position);
      if (!match) {
        break;
      }
      plain += text.substr(position, match->begin - position);
      GLM_RETURN_IF_ERROR(flush());
      ids.push_back(match->id);
      position = match->end;
      if (ids.size() > most_ids) return ids;
    }
    if (position < text.size()) {
      plain += text.substr(position);
      parse_plain = parse_plain && span.parse_added_tokens;
    }
  }
  GLM_RETURN_IF_ERROR(flush());
  return ids;
}

absl::Status Tokenizer::AppendPlain(std::string_view text,
                                    bool parse_added_tokens, size_t most_ids,
                                    std::vector<int32_t>& ids) const {
  std::string buffer;
  if (nfc_) {
    text = Nfc(text, buffer);
  }
  size_t position = 0;
  while (parse_added_tokens) {
    std::optional<AddedTokenMatcher::Match> match =
        normalized_tokens_.Find(text, position);
    if (!match) {
      break;
    }
    GLM_RETURN_IF_ERROR(AppendPieces(
        text.substr(position, match->begin - position), most_ids, ids));
    ids.push_back(match->id);
    position = match->end;
    if (ids.size() > most_ids) return absl::OkStatus();
  }
  return AppendPieces(text.substr(position), most_ids, ids);
}

absl::Status Tokenizer::AppendPieces(std::string_view text, size_t most_ids,
                                     std::vector<int32_t>& ids) const {
  if (text.empty()) {
    return absl::OkStatus();
  }
  std::vector<std::string_view> pieces;
  // Each piece has an id at least.
  GLM_RETURN_IF_ERROR(pre_tokenizer_->Split(text, pieces, most_ids));
  for (std::string_view piece : pieces) {
    if (ids.size() > most_ids) return absl::OkStatus();
    auto whole = whole_pieces_.find(piece);
    if (whole != whole_pieces_.end()) {
      ids.push_back(whole->second);
      continue;
    }
    const size_t least = (piece.size() + longest_merged_ - 1) / longest_merged_;
    if (least > most_ids - ids.size()) {
      ids.resize(most_ids + 1);
      return absl::OkStatus();
    }
    if (most_ids != SIZE_MAX && piece.size() > kMostPieceBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the text has ", piece.size(),
          " bytes without a place to split it; at most ", kMostPieceBytes,
          " are encoded: put spaces or line breaks between them"));
    }
    bpe_.Append(piece, ids);
  }
  return absl::OkStatus();
}

std::string_view Tokenizer::TokenBytes(int32_t id) const {
  return id >= 0 && id < vocab_size() ? bytes_[id] : std::string_view();
}

bool Tokenizer::IsAdded(int32_t id) const {
  return id >= 0 && id < vocab_size() && (flags_[id] & kAdded) != 0;
}

bool Tokenizer::IsSpecial(int32_t id) const {
  return id >= 0 && id < vocab_size() && (flags_[id] & kSpecial) != 0;
}

std::optional<int32_t> Tokenizer::TokenId(std::string_view bytes) const {
  auto found = ids_.find(bytes);
  if (found == ids_.end()) {
    return std::nullopt;
  }
  return found->second;
}

}  // namespace glm::text
