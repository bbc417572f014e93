#include "runtime/text/tool_schema.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/text/chat_markers.h"

namespace glm::text {
namespace {

using nlohmann::ordered_json;

// How far one argument's schema is followed.
constexpr int kMaxSchemaDepth = 32;
constexpr int kMaxSchemaVisits = 5000;

// Longer names of calls are not names, when any name may be one; nor is what
// more blanks follow.
constexpr size_t kMaxFreeName = 256;

TypeSet NamedType(const ordered_json& name) {
  if (!name.is_string()) return 0;
  const std::string& text = name.get_ref<const std::string&>();
  if (text == "null") return kNullType;
  if (text == "integer") return kIntegerType;
  if (text == "number") return kNumberType;
  if (text == "boolean") return kBooleanType;
  if (text == "object") return kObjectType;
  if (text == "array") return kArrayType;
  if (text == "string") return kStringType;
  return 0;
}

TypeSet TypeOfValue(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::null:
      return kNullType;
    case ordered_json::value_t::boolean:
      return kBooleanType;
    case ordered_json::value_t::number_integer:
    case ordered_json::value_t::number_unsigned:
    case ordered_json::value_t::binary:  // an integer beyond 64 bits
      return kIntegerType;
    case ordered_json::value_t::number_float:
      return kNumberType;
    case ordered_json::value_t::object:
      return kObjectType;
    case ordered_json::value_t::array:
      return kArrayType;
    case ordered_json::value_t::string:
      return kStringType;
    case ordered_json::value_t::discarded:
      break;
  }
  return 0;
}

// Reads one tool's `parameters`.
class SchemaReader {
 public:
  explicit SchemaReader(const ordered_json& parameters) : root_(parameters) {}

  ToolSchema Read() {
    Collect(root_, 0);
    ToolSchema result = std::move(result_);
    return result;
  }

 private:
  static constexpr const char* kUnions[] = {"anyOf", "oneOf", "allOf"};

  // Calls `visit` for every schema that `schema` refers to or unites.
  template <typename Visit>
  void ForEachPart(const ordered_json& schema, const Visit& visit) const {
    if (auto ref = schema.find("$ref");
        ref != schema.end() && ref->is_string()) {
      const ordered_json* target = Resolve(ref->get_ref<const std::string&>());
      if (target != nullptr) visit(*target);
    }
    for (const char* name : kUnions) {
      auto parts = schema.find(name);
      if (parts == schema.end() || !parts->is_array()) continue;
      for (const ordered_json& part : *parts) visit(part);
    }
  }

  // The schemas of a tool's arguments may themselves be behind references.
  void Collect(const ordered_json& schema, int depth) {
    if (!schema.is_object() || depth > kMaxSchemaDepth ||
        ++collected_ > kMaxSchemaVisits) {
      return;
    }
    if (auto properties = schema.find("properties");
        properties != schema.end() && properties->is_object()) {
      for (const auto& [key, property] : properties->items()) {
        result_.declared[key] |= Types(property, 0);
      }
    }
    if (auto others = schema.find("additionalProperties");
        others != schema.end()) {
      result_.others |= Types(*others, 0);
    }
    ForEachPart(schema,
                [&](const ordered_json& part) { Collect(part, depth + 1); });
  }

  TypeSet Types(const ordered_json& schema, int depth) {
    if (!schema.is_object() || depth > kMaxSchemaDepth ||
        ++visits_ > kMaxSchemaVisits) {
      return 0;
    }
    TypeSet types = 0;
    if (auto type = schema.find("type"); type != schema.end()) {
      types |= NamedType(*type);
      if (type->is_array()) {
        for (const ordered_json& name : *type) types |= NamedType(name);
      }
    }
    if (auto nullable = schema.find("nullable");
        nullable != schema.end() && *nullable == true) {
      types |= kNullType;
    }
    if (auto values = schema.find("enum");
        values != schema.end() && values->is_array()) {
      for (const ordered_json& value : *values) types |= TypeOfValue(value);
    }
    if (auto value = schema.find("const"); value != schema.end()) {
      types |= TypeOfValue(*value);
    }
    ForEachPart(schema, [&](const ordered_json& part) {
      types |= Types(part, depth + 1);
    });
    return types;
  }

  // "#" and "#/a/b", a JSON pointer into `parameters`.
  const ordered_json* Resolve(std::string_view reference) const {
    if (!reference.starts_with('#')) return nullptr;
    const ordered_json* at = &root_;
    if (reference.size() == 1) return at;
    if (reference[1] != '/') return nullptr;
    for (size_t begin = 2; begin <= reference.size();) {
      const size_t end = std::min(reference.find('/', begin), reference.size());
      const std::string step =
          absl::StrReplaceAll(std::string(reference.substr(begin, end - begin)),
                              {{"~0", "~"}, {"~1", "/"}});
      begin = end + 1;
      size_t index = 0;
      if (at->is_object() && at->contains(step)) {
        at = &at->at(step);
      } else if (at->is_array() && absl::SimpleAtoi(step, &index) &&
                 index < at->size()) {
        at = &(*at)[index];
      } else {
        return nullptr;
      }
    }
    return at;
  }

  const ordered_json& root_;
  ToolSchema result_;
  int collected_ = 0;
  int visits_ = 0;
};

}  // namespace

TypeSet ToolSchema::Types(std::string_view key) const {
  auto entry = declared.find(key);
  return entry == declared.end() ? others : entry->second;
}

absl::StatusOr<std::shared_ptr<const ToolSchemas>> ToolSchemas::Create(
    const std::vector<ordered_json>& tools) {
  const std::shared_ptr<ToolSchemas> made(new ToolSchemas);
  ToolSchemas& result = *made;
  result.any_.others = kStringType;
  for (size_t i = 0; i < tools.size(); ++i) {
    const ordered_json* tool = &tools[i];
    if (tool->is_object() && tool->contains("function")) {
      tool = &tool->at("function");
    }
    auto name = tool->is_object() ? tool->find("name") : tool->end();
    if (name == tool->end() || !name->is_string() ||
        Trim(name->get_ref<const std::string&>()).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tools[", i,
                       "] has no name; send an object with "
                       "\"name\", bare or as \"function\""));
    }
    auto parameters = tool->find("parameters");
    result.tools_.try_emplace(
        std::string(Trim(name->get_ref<const std::string&>())),
        parameters == tool->end() ? ToolSchema()
                                  : SchemaReader(*parameters).Read());
  }
  return made;
}

const ToolSchema* ToolSchemas::Find(std::string_view name) const {
  if (tools_.empty()) {
    return &any_;
  }
  auto entry = tools_.find(name);
  return entry == tools_.end() ? nullptr : &entry->second;
}

bool ToolSchemas::MayBecomeName(std::string_view text) const {
  const std::string_view name = TrimRight(text);
  if (text.size() - name.size() > kMaxFreeName) {
    return false;
  }
  if (tools_.empty()) {
    return name.size() <= kMaxFreeName &&
           std::none_of(name.begin(), name.end(), IsBlank);
  }
  return tools_.contains(name) ||
         std::any_of(tools_.begin(), tools_.end(), [&](const auto& tool) {
           return std::string_view(tool.first).starts_with(text);
         });
}

}  // namespace glm::text
