// The components of tokenizer.json around the vocabulary. Each is either one
// that the tokenizer implements or refused by name.
#include <nlohmann/json.hpp>

#include "runtime/base/status_macros.h"
#include "runtime/text/split_pattern.h"
#include "runtime/text/tokenizer_json_fields.h"

namespace glm::text {

absl::StatusOr<bool> TokenizerJsonFields::Flag(
    const nlohmann::json& object, const char* key, std::string_view where,
    bool otherwise) const {
  auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return otherwise;
  }
  if (!found->is_boolean()) {
    return Invalid(std::string(where), ".", key, " is no boolean");
  }
  return found->get<bool>();
}

absl::StatusOr<std::string> TokenizerJsonFields::Type(
    const nlohmann::json& component, std::string_view where) const {
  if (component.is_object()) {
    auto type = component.find("type");
    if (type != component.end() && type->is_string()) {
      return type->get<std::string>();
    }
  }
  return Invalid(std::string(where), " is no object with a type");
}

std::string TokenizerJsonFields::Quoted(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string shown = absl::StrCat("'", std::string(text.substr(0, kShown)));
  return shown + (text.size() > kShown ? "...'" : "'");
}

namespace {

using nlohmann::json;

class ComponentReader : private TokenizerJsonFields {
 public:
  ComponentReader(const TokenizerJsonFields& fields, TokenizerSpec& spec)
      : TokenizerJsonFields(fields), spec_(&spec) {}

  absl::Status Model(const json& model);
  absl::Status Normalizer(const json& root);
  absl::Status PreTokenizer(const json& root);
  absl::Status PostProcessor(const json& root) const;
  absl::Status Decoder(const json& root) const;

 private:
  absl::Status ByteLevelOptions(const json& component) const;
  absl::Status SplitPattern(const json& split);

  TokenizerSpec* spec_;
};

absl::Status ComponentReader::Normalizer(const json& root) {
  auto found = root.find("normalizer");
  if (found == root.end() || found->is_null()) {
    return absl::OkStatus();
  }
  GLM_ASSIGN_OR_RETURN(std::string type, Type(*found, "normalizer"));
  if (type != "NFC") {
    return Unsupported("normalizer ", Quoted(type));
  }
  spec_->nfc = true;
  return absl::OkStatus();
}

absl::Status ComponentReader::ByteLevelOptions(
    const json& component) const {
  GLM_ASSIGN_OR_RETURN(
      bool prefix, Flag(component, "add_prefix_space", "pre_tokenizer", true));
  if (prefix) {
    return Unsupported("pre_tokenizer 'ByteLevel' with add_prefix_space");
  }
  return absl::OkStatus();
}

absl::Status ComponentReader::SplitPattern(const json& split) {
  GLM_ASSIGN_OR_RETURN(bool invert, Flag(split, "invert", "Split", false));
  auto behavior = split.find("behavior");
  if (invert || behavior == split.end() || *behavior != "Isolated") {
    return Unsupported("pre_tokenizer 'Split' that is inverted or whose "
                       "behavior is not 'Isolated'");
  }
  auto pattern = split.find("pattern");
  if (pattern == split.end() || !pattern->is_object() ||
      !pattern->contains("Regex") || !(*pattern)["Regex"].is_string()) {
    return Unsupported("pre_tokenizer 'Split' without a Regex");
  }
  spec_->split_pattern = (*pattern)["Regex"].get<std::string>();
  return absl::OkStatus();
}

absl::Status ComponentReader::PreTokenizer(const json& root) {
  auto found = root.find("pre_tokenizer");
  if (found == root.end() || found->is_null()) {
    return Unsupported("a tokenizer without pre_tokenizer");
  }
  GLM_ASSIGN_OR_RETURN(std::string type, Type(*found, "pre_tokenizer"));
  if (type == "ByteLevel") {
    GLM_ASSIGN_OR_RETURN(bool regex,
                         Flag(*found, "use_regex", "pre_tokenizer", true));
    if (!regex) {
      return Unsupported("pre_tokenizer 'ByteLevel' alone without use_regex");
    }
    spec_->split_pattern = kGpt2Pattern;
    return ByteLevelOptions(*found);
  }
  if (type != "Sequence") {
    return Unsupported("pre_tokenizer ", Quoted(type));
  }
  auto parts = found->find("pretokenizers");
  if (parts == found->end() || !parts->is_array() || parts->size() != 2) {
    return Unsupported("a pre_tokenizer 'Sequence' that is not Split, "
                       "ByteLevel");
  }
  const json& split = (*parts)[0];
  const json& byte_level = (*parts)[1];
  GLM_ASSIGN_OR_RETURN(std::string first, Type(split, "pretokenizers[0]"));
  GLM_ASSIGN_OR_RETURN(std::string second,
                       Type(byte_level, "pretokenizers[1]"));
  if (first != "Split" || second != "ByteLevel") {
    return Unsupported("pre_tokenizer 'Sequence' of ", Quoted(first), ", ",
                       Quoted(second));
  }
  GLM_RETURN_IF_ERROR(SplitPattern(split));
  GLM_ASSIGN_OR_RETURN(bool regex,
                       Flag(byte_level, "use_regex", "ByteLevel", true));
  if (regex) {
    return Unsupported(
        "pre_tokenizer 'ByteLevel' with use_regex after 'Split'");
  }
  return ByteLevelOptions(byte_level);
}

absl::Status ComponentReader::PostProcessor(const json& root) const {
  auto found = root.find("post_processor");
  if (found == root.end() || found->is_null()) {
    return absl::OkStatus();
  }
  GLM_ASSIGN_OR_RETURN(std::string type, Type(*found, "post_processor"));
  return type == "ByteLevel" ? absl::OkStatus()
                             : Unsupported("post_processor ", Quoted(type));
}

absl::Status ComponentReader::Decoder(const json& root) const {
  auto found = root.find("decoder");
  if (found == root.end() || found->is_null()) {
    return Unsupported("a tokenizer without decoder");
  }
  GLM_ASSIGN_OR_RETURN(std::string type, Type(*found, "decoder"));
  return type == "ByteLevel" ? absl::OkStatus()
                             : Unsupported("decoder ", Quoted(type));
}

absl::Status ComponentReader::Model(const json& model) {
  GLM_ASSIGN_OR_RETURN(std::string type, Type(model, "model"));
  if (type != "BPE") {
    return Unsupported("model ", Quoted(type));
  }
  for (const char* key : {"dropout", "continuing_subword_prefix",
                          "end_of_word_suffix", "unk_token"}) {
    auto found = model.find(key);
    if (found != model.end() && !found->is_null() && *found != "") {
      return Unsupported("model.", key);
    }
  }
  GLM_ASSIGN_OR_RETURN(bool fallback,
                       Flag(model, "byte_fallback", "model", false));
  if (fallback) {
    return Unsupported("model.byte_fallback");
  }
  GLM_ASSIGN_OR_RETURN(spec_->ignore_merges,
                       Flag(model, "ignore_merges", "model", false));
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadTokenizerComponents(const json& root,
                                     const TokenizerJsonFields& fields,
                                     TokenizerSpec& spec) {
  auto model = root.find("model");
  if (model == root.end()) {
    return fields.Invalid("the file has no model");
  }
  ComponentReader reader(fields, spec);
  GLM_RETURN_IF_ERROR(reader.Model(*model));
  GLM_RETURN_IF_ERROR(reader.Normalizer(root));
  GLM_RETURN_IF_ERROR(reader.PreTokenizer(root));
  GLM_RETURN_IF_ERROR(reader.PostProcessor(root));
  return reader.Decoder(root);
}

}  // namespace glm::text
