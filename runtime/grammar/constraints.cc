#include "runtime/grammar/constraints.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/pattern.h"

namespace glm::grammar {
namespace {

uint8_t TypeOf(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return kBoolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return kInteger;
    case Json::value_t::number_float: {
      auto number = value.get<double>();
      return number == std::floor(number) ? kInteger : kFraction;
    }
    case Json::value_t::string:
      return kString;
    case Json::value_t::array:
      return kArray;
    case Json::value_t::object:
      return kObject;
    default:
      return kNull;
  }
}

absl::StatusOr<uint8_t> TypeNamed(const Place& place) {
  static constexpr std::pair<std::string_view, uint8_t> kNames[] = {
      {"null", kNull},       {"boolean", kBoolean},
      {"integer", kInteger}, {"number", kInteger | kFraction},
      {"string", kString},   {"array", kArray},
      {"object", kObject}};
  for (const auto& [name, bits] : kNames) {
    if (*place.schema == name) {
      return bits;
    }
  }
  return place.Wrong(
      "null, boolean, integer, number, string, "
      "array or object, or a list of these");
}

class Merger {
 public:
  explicit Merger(PatternWork& work) : work_(work) {}

  absl::Status Add(const Place& place) {
    place_ = &place;
    GLM_RETURN_IF_ERROR(AddType());
    GLM_RETURN_IF_ERROR(AddNumbers());
    GLM_RETURN_IF_ERROR(AddStrings());
    GLM_RETURN_IF_ERROR(AddArrays());
    GLM_RETURN_IF_ERROR(AddObjects());
    return AddValues();
  }

  absl::StatusOr<Constraints> Finish() {
    if (!typed_ && !all_.values.has_value() && keywords_of_ != 0) {
      all_.types = keywords_of_;
    }
    if (all_.values.has_value()) {
      GLM_RETURN_IF_ERROR(FilterValues());
    }
    return std::move(all_);
  }

 private:
  std::optional<Place> Find(std::string_view key) const {
    return place_->schema->contains(key) ? std::optional(place_->At(key))
                                         : std::nullopt;
  }

  absl::Status AddType() {
    std::optional<Place> type = Find("type");
    if (!type.has_value()) {
      return absl::OkStatus();
    }
    typed_ = true;
    uint8_t bits = 0;
    if (type->schema->is_array()) {
      for (size_t i = 0; i < type->schema->size(); ++i) {
        GLM_ASSIGN_OR_RETURN(uint8_t more, TypeNamed(type->At(i)));
        bits |= more;
      }
    } else {
      GLM_ASSIGN_OR_RETURN(bits, TypeNamed(*type));
    }
    all_.types &= bits;
    return absl::OkStatus();
  }

  absl::Status AddNumbers() {
    for (bool exclusive : {false, true}) {
      for (bool low : {false, true}) {
        std::string_view key =
            exclusive ? (low ? "exclusiveMinimum" : "exclusiveMaximum")
                      : (low ? "minimum" : "maximum");
        std::optional<Place> at = Find(key);
        if (!at.has_value()) {
          continue;
        }
        std::optional<Decimal> number =
            at->schema->is_number() ? Decimal::Of(*at->schema) : std::nullopt;
        if (!number.has_value()) {
          return at->Wrong("a number");
        }
        keywords_of_ |= kInteger | kFraction;
        Bound bound{*std::move(number), exclusive};
        auto& known = low ? all_.numbers.low : all_.numbers.high;
        int side = known.has_value() ? Compare(bound.at, known->at) : 0;
        if (!known.has_value() || (low ? side > 0 : side < 0) ||
            (side == 0 && exclusive)) {
          known = std::move(bound);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddCount(std::string_view min, std::string_view max,
                        uint8_t type, Count& count) {
    for (bool low : {false, true}) {
      std::optional<Place> at = Find(low ? min : max);
      if (!at.has_value()) {
        continue;
      }
      const Json& value = *at->schema;
      double number = value.is_number() ? value.get<double>() : -1;
      if (!(number >= 0) || number > 1e15 || number != std::floor(number)) {
        return at->Wrong("a whole number from 0 to 1e15");
      }
      keywords_of_ |= type;
      auto limit = static_cast<uint64_t>(number);
      if (low) {
        count.min = std::max(count.min, limit);
      } else {
        count.max = std::min(count.max.value_or(limit), limit);
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddPattern(const Place& at, std::string_view pattern) {
    absl::StatusOr<CodePointSet> set = ParsePattern(pattern, work_);
    if (!set.ok()) {
      return absl::IsResourceExhausted(set.status())
                 ? at.TooMuch(std::string(set.status().message()))
                 : at.Bad(absl::StrCat(
                       std::string(set.status().message()), "; found ",
                       Shown(*at.schema),
                       "; supported are characters, classes, groups, |, *, +, "
                       "?, {m,n}, ^ at the begin and $ at the end"));
    }
    keywords_of_ |= kString;
    all_.pattern_place = at;
    if (!all_.pattern.has_value()) {
      all_.pattern = *std::move(set);
      return absl::OkStatus();
    }
    all_.pattern = Both(*all_.pattern, *set, work_);
    return all_.pattern.has_value()
               ? absl::OkStatus()
               : at.TooMuch(
                     "too many states together with other patterns; "
                     "write them as one");
  }

  absl::Status AddStrings() {
    GLM_RETURN_IF_ERROR(
        AddCount("minLength", "maxLength", kString, all_.length));
    if (std::optional<Place> at = Find("pattern")) {
      if (!at->schema->is_string()) {
        return at->Wrong("a string");
      }
      GLM_RETURN_IF_ERROR(
          AddPattern(*at, at->schema->get_ref<const std::string&>()));
    }
    if (std::optional<Place> at = Find("format")) {
      if (!at->schema->is_string()) {
        return at->Wrong("a string");
      }
      if (auto pattern =
              PatternOfFormat(at->schema->get_ref<const std::string&>())) {
        return AddPattern(*at, *pattern);
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddArrays() {
    GLM_RETURN_IF_ERROR(AddCount("minItems", "maxItems", kArray, all_.items));
    std::optional<Place> prefix = Find("prefixItems");
    std::optional<Place> rest = Find("items");
    if (rest.has_value() && rest->schema->is_array()) {  // before 2020-12
      prefix = rest;
      rest = Find("additionalItems");
    }
    if (!prefix.has_value() && !rest.has_value()) {
      return absl::OkStatus();
    }
    keywords_of_ |= kArray;
    ArrayKeywords keywords;
    keywords.rest = rest;
    if (prefix.has_value()) {
      if (!prefix->schema->is_array()) {
        return prefix->Wrong("a list of schemas");
      }
      for (size_t i = 0; i < prefix->schema->size(); ++i) {
        keywords.prefix.push_back(prefix->At(i));
      }
    }
    all_.arrays.push_back(std::move(keywords));
    return absl::OkStatus();
  }

  absl::Status AddObjects() {
    GLM_RETURN_IF_ERROR(
        AddCount("minProperties", "maxProperties", kObject, all_.properties));
    if (std::optional<Place> required = Find("required")) {
      keywords_of_ |= kObject;
      if (!required->schema->is_array()) {
        return required->Wrong("a list of names");
      }
      for (const Json& name : *required->schema) {
        if (!name.is_string()) {
          return required->Wrong("a list of names");
        }
        auto text = name.get<std::string>();
        if (std::find(all_.required.begin(), all_.required.end(), text) ==
            all_.required.end()) {
          all_.required.push_back(std::move(text));
        }
        if (all_.required.size() > kMaxProperties) {
          return required->TooMuch(
              absl::StrCat("more than ", kMaxProperties, " names"));
        }
      }
    }
    ObjectKeywords keywords{Find("properties"), Find("additionalProperties")};
    if (keywords.properties.has_value() &&
        !keywords.properties->schema->is_object()) {
      return keywords.properties->Wrong("an object of schemas");
    }
    if (keywords.properties.has_value() || keywords.additional.has_value()) {
      keywords_of_ |= kObject;
      all_.objects.push_back(std::move(keywords));
    }
    return absl::OkStatus();
  }

  absl::Status AddValues() {
    for (bool is_enum : {false, true}) {
      std::optional<Place> at = Find(is_enum ? "enum" : "const");
      if (!at.has_value()) {
        continue;
      }
      std::vector<const Json*> values = {at->schema};
      if (is_enum) {
        if (!at->schema->is_array() || at->schema->empty()) {
          return at->Wrong("a list of at least one value");
        }
        values.clear();
        for (const Json& value : *at->schema) {
          values.push_back(&value);
        }
      }
      values_place_ = *at;
      if (all_.values.has_value()) {
        std::erase_if(*all_.values, [&](const Json* value) {
          return std::none_of(
              values.begin(), values.end(),
              [&](const Json* other) { return *value == *other; });
        });
      } else {
        all_.values = std::move(values);
      }
    }
    return absl::OkStatus();
  }

  absl::Status FilterValues() {
    for (const Json* value : *all_.values) {
      uint8_t type = TypeOf(*value);
      if ((type & all_.types) != 0 && (type & (kArray | kObject)) != 0 &&
          (type & keywords_of_) != 0) {
        return values_place_.Bad(
            "lists or objects beside keywords that they must hold are not "
            "supported; leave only the values");
      }
    }
    std::erase_if(*all_.values,
                  [&](const Json* value) { return !IsAllowed(*value); });
    return work_.exhausted()
               ? values_place_.TooMuch(
                     "comparing these values with the pattern takes too many "
                     "steps; leave only the values")
               : absl::OkStatus();
  }

  bool IsAllowed(const Json& value) {
    uint8_t type = TypeOf(value);
    if ((type & all_.types) == 0) {
      return false;
    }
    if ((type & (kInteger | kFraction)) != 0) {
      std::optional<Decimal> number = Decimal::Of(value);
      return number.has_value() && all_.numbers.Contains(*number);
    }
    if (type == kString) {
      const auto& text = value.get_ref<const std::string&>();
      uint64_t length = static_cast<uint64_t>(std::count_if(
          text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
      return all_.length.Has(length) && (!all_.pattern.has_value() ||
                                         Contains(*all_.pattern, text, work_));
    }
    return true;
  }

  PatternWork& work_;
  const Place* place_ = nullptr;
  Constraints all_;
  bool typed_ = false;
  uint8_t keywords_of_ = 0;  // types that have keywords
  Place values_place_;
};

}  // namespace

absl::StatusOr<Constraints> Merge(const Places& all, PatternWork& work) {
  Merger merger(work);
  for (const Place& place : all) {
    GLM_RETURN_IF_ERROR(merger.Add(place));
  }
  return merger.Finish();
}

}  // namespace glm::grammar
