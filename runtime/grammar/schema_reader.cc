#include "runtime/grammar/schema_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status_macros.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/schema_keywords.h"
#include "runtime/text/python_json.h"
#include "runtime/text/utf8.h"

namespace glm::grammar {
namespace {

// Both hold: each of `a` with each of `b`.
absl::StatusOr<std::vector<Places>> Cross(const Place& place,
                                          const std::vector<Places>& a,
                                          const std::vector<Places>& b) {
  if (a.size() * b.size() > kMaxAlternatives) {
    return place.TooMuch(absl::StrCat("has more than ", kMaxAlternatives,
                                      " alternatives; use fewer anyOf"));
  }
  std::vector<Places> all;
  for (const Places& x : a) {
    for (const Places& y : b) {
      Places both = x;
      for (const Place& add : y) {
        if (std::none_of(both.begin(), both.end(), [&](const Place& has) {
              return has.schema == add.schema;
            })) {
          both.push_back(add);
        }
      }
      all.push_back(std::move(both));
    }
  }
  return all;
}

std::optional<std::string> DecodePercent(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const char* end = text.data() + std::min(i + 3, text.size());
    auto read = std::from_chars(text.data() + i + 1, end, value, 16);
    if (read.ec != std::errc() || read.ptr != text.data() + i + 3) {
      return std::nullopt;
    }
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

}  // namespace

std::string Shown(const Json& value) {
  constexpr size_t kMost = 60;
  std::string text = text::PythonJson(value);
  if (text.size() <= kMost) {
    return text;
  }
  text.resize(kMost);
  text.resize(text::ValidUtf8Prefix(text));
  return text + "...";
}

Place Place::At(std::string_view key) const {
  return {&*schema->find(key),
          absl::StrCat(pointer, "/",
                       absl::StrReplaceAll(std::string(key),
                                           {{"~", "~0"}, {"/", "~1"}}))};
}

Place Place::At(size_t index) const {
  return {&(*schema)[index], absl::StrCat(pointer, "/", index)};
}

absl::Status Place::Bad(std::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("schema ", pointer.empty() ? "(root)" : pointer, ": ",
                   std::string(what)));
}

absl::Status Place::Wrong(std::string_view what) const {
  return Bad(
      absl::StrCat("must be ", std::string(what), "; found ", Shown(*schema)));
}

absl::Status Place::TooMuch(std::string_view what) const {
  return absl::ResourceExhaustedError(
      absl::StrCat("schema ", pointer.empty() ? "(root)" : pointer, ": ",
                   std::string(what)));
}

absl::Status CheckSize(const Json& document) {
  struct Level {
    const Json* parent;
    Json::const_iterator at;
  };
  size_t values = 0;
  size_t bytes = 0;
  std::vector<Level> levels;
  const Json* value = &document;
  bool valid = true;
  auto add_text = [&](const std::string& text) {
    bytes += text.size();
    valid &= text::ValidUtf8Prefix(text) == text.size();
  };
  while (true) {
    if (value->is_string()) {
      add_text(value->get_ref<const std::string&>());
    }
    if (++values > kMaxSchemaValues || bytes > kMaxSchemaBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the schema has more than ", kMaxSchemaValues, " values or ",
          kMaxSchemaBytes, " bytes of text; make it smaller"));
    }
    if (!valid) {
      return absl::InvalidArgumentError(
          "the schema has text that is not UTF-8; encode it again");
    }
    if (value->is_structured()) {
      if (levels.size() >= kMaxSchemaDepth) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the schema is nested deeper than ", kMaxSchemaDepth,
                         " levels; move parts to $defs"));
      }
      levels.push_back({value, value->begin()});
    }
    while (!levels.empty() && levels.back().at == levels.back().parent->end()) {
      levels.pop_back();
    }
    if (levels.empty()) {
      break;
    }
    Level& level = levels.back();
    if (level.parent->is_object()) {
      add_text(level.at.key());
    }
    value = &*level.at;
    ++level.at;
  }
  return absl::OkStatus();
}

absl::StatusOr<Place> SchemaReader::Resolve(const Place& from) const {
  if (!from.schema->is_string()) {
    return from.Wrong("a string");
  }
  const auto& reference = from.schema->get_ref<const std::string&>();
  std::optional<std::string> decoded = DecodePercent(reference);
  if (!decoded.has_value() || decoded->empty() || decoded->front() != '#' ||
      (decoded->size() > 1 && (*decoded)[1] != '/')) {
    return from.Bad(
        absl::StrCat("only references into the schema itself are followed, "
                     "\"#\" or \"#/$defs/name\"; found \"",
                     reference, "\""));
  }
  Place at{&document_, ""};
  if (decoded->size() == 1) {
    return at;
  }
  std::vector<std::string> steps = absl::StrSplit(decoded->substr(2), '/');
  for (const std::string& step : steps) {
    std::string key = absl::StrReplaceAll(step, {{"~1", "/"}, {"~0", "~"}});
    size_t index = 0;
    auto read = std::from_chars(key.data(), key.data() + key.size(), index);
    bool is_index =
        read.ec == std::errc() && read.ptr == key.data() + key.size();
    if (at.schema->is_object() && at.schema->contains(key)) {
      at = at.At(key);
    } else if (at.schema->is_array() && is_index && index < at.schema->size()) {
      at = at.At(index);
    } else {
      return from.Bad(absl::StrCat("\"", reference, "\" names nothing"));
    }
  }
  return at;
}

absl::StatusOr<std::vector<Places>> SchemaReader::ExpandAny(const Place& list) {
  if (!list.schema->is_array() || list.schema->empty()) {
    return list.Wrong("a list of at least one schema");
  }
  std::vector<Places> all;
  for (size_t i = 0; i < list.schema->size(); ++i) {
    GLM_ASSIGN_OR_RETURN(std::vector<Places> one, Expand(list.At(i)));
    all.insert(all.end(), one.begin(), one.end());
    if (all.size() > kMaxAlternatives) {
      return list.TooMuch(absl::StrCat("has more than ", kMaxAlternatives,
                                       " alternatives; use fewer"));
    }
  }
  return all;
}

absl::StatusOr<std::vector<Places>> SchemaReader::Expand(const Place& place) {
  if (++visits_ > kMaxVisits) {
    return place.TooMuch(
        "too many combinations of $ref, allOf and anyOf; make it simpler");
  }
  if (place.schema->is_boolean()) {
    return place.schema->get<bool>() ? std::vector<Places>(1)
                                     : std::vector<Places>();
  }
  if (!place.schema->is_object()) {
    return place.Wrong("a schema: an object or a boolean");
  }
  if (std::find(above_.begin(), above_.end(), place.schema) != above_.end()) {
    return std::vector<Places>();  // adds nothing to itself
  }
  if (above_.size() >= kMaxSchemaDepth) {
    return place.TooMuch(absl::StrCat("more than ", kMaxSchemaDepth,
                                      " references one after the other"));
  }
  GLM_RETURN_IF_ERROR(CheckKeywords(place));
  std::vector<Places> all(1);
  if (HasOwnKeywords(*place.schema)) {
    all[0].push_back(place);
  }
  above_.push_back(place.schema);
  if (place.schema->contains("$ref")) {
    GLM_ASSIGN_OR_RETURN(Place target, Resolve(place.At("$ref")));
    GLM_ASSIGN_OR_RETURN(std::vector<Places> more, Expand(target));
    GLM_ASSIGN_OR_RETURN(all, Cross(place, all, more));
  }
  if (place.schema->contains("allOf")) {
    Place list = place.At("allOf");
    if (!list.schema->is_array()) {
      return list.Wrong("a list of schemas");
    }
    for (size_t i = 0; i < list.schema->size(); ++i) {
      GLM_ASSIGN_OR_RETURN(std::vector<Places> more, Expand(list.At(i)));
      GLM_ASSIGN_OR_RETURN(all, Cross(place, all, more));
    }
  }
  for (std::string_view key : {"anyOf", "oneOf"}) {
    if (place.schema->contains(key)) {
      GLM_ASSIGN_OR_RETURN(std::vector<Places> more, ExpandAny(place.At(key)));
      GLM_ASSIGN_OR_RETURN(all, Cross(place, all, more));
    }
  }
  above_.pop_back();
  return all;
}

absl::StatusOr<std::vector<Places>> SchemaReader::Alternatives(
    const Places& all) {
  std::vector<Places> result(1);
  above_.clear();
  for (const Place& place : all) {
    GLM_ASSIGN_OR_RETURN(std::vector<Places> more, Expand(place));
    GLM_ASSIGN_OR_RETURN(result, Cross(place, result, more));
  }
  return result;
}

}  // namespace glm::grammar
