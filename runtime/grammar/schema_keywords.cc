#include "runtime/grammar/schema_keywords.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace glm::grammar {
namespace {

constexpr std::string_view kOwn[] = {"type",
                                     "enum",
                                     "const",
                                     "minimum",
                                     "maximum",
                                     "exclusiveMinimum",
                                     "exclusiveMaximum",
                                     "minLength",
                                     "maxLength",
                                     "pattern",
                                     "format",
                                     "items",
                                     "prefixItems",
                                     "additionalItems",
                                     "minItems",
                                     "maxItems",
                                     "properties",
                                     "required",
                                     "additionalProperties",
                                     "minProperties",
                                     "maxProperties"};

// Refused wherever they are.
constexpr std::string_view kRefused[] = {
    "not",         "if",          "contains",     "minContains",
    "maxContains", "$dynamicRef", "$recursiveRef"};

// Without meaning when they are empty.
constexpr std::string_view kRefusedUnlessEmpty[] = {
    "patternProperties", "dependentRequired", "dependentSchemas",
    "dependencies"};

// Without meaning when they are `true`.
constexpr std::string_view kRefusedUnlessTrue[] = {"unevaluatedProperties",
                                                   "unevaluatedItems"};

absl::Status Refuse(const Place& place, std::string_view key,
                    std::string_view remedy) {
  const Place at = place.At(key);
  std::string supported = "$ref, $defs, allOf, anyOf, oneOf";
  for (std::string_view own : kOwn) {
    absl::StrAppend(&supported, ", ", std::string(own));
  }
  return at.Bad(absl::StrCat(std::string(key), " is not supported, found ",
                             Shown(*at.schema), "; ", std::string(remedy),
                             "; supported are ", supported));
}

bool IsOneOfIntegers(const Json& schema, const Json& multiple) {
  auto type = schema.find("type");
  return multiple.is_number() && multiple == 1 && type != schema.end() &&
         *type == "integer";
}

bool SaysOnlyString(const Json& names) {
  return names == true ||
         (names.is_object() &&
          std::all_of(names.items().begin(), names.items().end(),
                      [](const auto& item) {
                        return item.key() == "type" && item.value() == "string";
                      }));
}

}  // namespace

absl::Status CheckKeywords(const Place& place) {
  const Json& schema = *place.schema;
  static constexpr std::string_view kRemove =
      "remove it, and check the answer instead";
  for (std::string_view key : kRefused) {
    if (schema.contains(key)) {
      return Refuse(place, key, kRemove);
    }
  }
  for (std::string_view key : kRefusedUnlessEmpty) {
    if (auto at = schema.find(key); at != schema.end() && !at->empty()) {
      return Refuse(place, key, kRemove);
    }
  }
  for (std::string_view key : kRefusedUnlessTrue) {
    if (auto at = schema.find(key); at != schema.end() && *at != true) {
      return Refuse(place, key, "use additionalProperties or items");
    }
  }
  if (auto at = schema.find("uniqueItems");
      at != schema.end() && *at != false) {
    return Refuse(place, "uniqueItems", kRemove);
  }
  if (auto at = schema.find("multipleOf");
      at != schema.end() && !IsOneOfIntegers(schema, *at)) {
    return Refuse(place, "multipleOf", kRemove);
  }
  if (auto at = schema.find("propertyNames");
      at != schema.end() && !SaysOnlyString(*at)) {
    return Refuse(place, "propertyNames", "list the names in properties");
  }
  return absl::OkStatus();
}

bool HasOwnKeywords(const Json& schema) {
  return std::any_of(
      std::begin(kOwn), std::end(kOwn),
      [&](std::string_view key) { return schema.contains(key); });
}

}  // namespace glm::grammar
