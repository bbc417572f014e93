#include "runtime/grammar/schema_compiler.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/grammar/constraints.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/number_rules.h"
#include "runtime/grammar/string_rules.h"

namespace glm::grammar {
namespace {

constexpr StateId kReturn = Automaton::kReturnState;

std::string Spelled(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

uint32_t Clamped(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, INT32_MAX));
}

uint32_t Less(uint64_t count, uint64_t by) {
  return count > by ? Clamped(count - by) : 0;
}

uint32_t Most(const Count& count, uint64_t by) {
  return count.max.has_value() ? Less(*count.max, by) : kUnbounded;
}

class Compiler {
 public:
  explicit Compiler(const Json& schema)
      : reader_(schema), strings_(automaton_), schema_(schema) {
    MakeSpace();
  }

  absl::StatusOr<Automaton> Compile() {
    Place whole{&schema_, ""};
    StateId value = Rule({whole});
    StateId one = automaton_.AddSplit({automaton_.AddByte('\n', value), value});
    automaton_.root =
        automaton_.AddSplit({automaton_.AddByte('\n', one), value});
    for (size_t i = 0; i < rules_.size(); ++i) {
      // A copy: the list grows meanwhile.
      const Pending rule = rules_[i];
      GLM_RETURN_IF_ERROR(Build(rule.state, rule.all));
      if (automaton_.overflowed()) {
        return PlaceOf(rule).TooMuch(absl::StrCat("the schema needs more than ",
                                                  kMaxAutomatonStates,
                                                  " states; make it smaller"));
      }
    }
    std::vector<bool> ends = automaton_.Trim();
    if (!ends[automaton_.root]) {
      // What was met last lies deepest.
      auto cause =
          std::find_if(rules_.rbegin(), rules_.rend(),
                       [&](const Pending& rule) { return !ends[rule.state]; });
      return PlaceOf(cause == rules_.rend() ? rules_[0] : *cause)
          .Bad(
              "no finite JSON value is right here; what holds together "
              "contradicts itself or never ends");
    }
    return std::move(automaton_);
  }

 private:
  struct Pending {
    StateId state;
    Places all;
  };

  Place PlaceOf(const Pending& rule) const {
    return rule.all.empty() ? Place{&schema_, ""} : rule.all[0];
  }

  // The rule of values that are right for all of these; it is built later.
  StateId Rule(const Places& all) {
    std::vector<const Json*> key;
    for (const Place& place : all) {
      key.push_back(place.schema);
    }
    std::sort(key.begin(), key.end());
    auto [at, added] = rule_of_.try_emplace(std::move(key), 0);
    if (added) {
      at->second = automaton_.AddSplit();
      rules_.push_back({at->second, all});
    }
    return at->second;
  }

  absl::Status Build(StateId state, const Places& all) {
    GLM_ASSIGN_OR_RETURN(std::vector<Places> alternatives,
                         reader_.Alternatives(all));
    std::vector<StateId> next;
    for (const Places& alternative : alternatives) {
      if (automaton_.overflowed()) {
        break;
      }
      GLM_ASSIGN_OR_RETURN(Constraints constraints, Merge(alternative));
      GLM_RETURN_IF_ERROR(AddValue(
          constraints,
          alternative.empty() ? Place{&schema_, ""} : alternative[0], next));
    }
    automaton_[state].next = std::move(next);
    return absl::OkStatus();
  }

  absl::Status AddValue(const Constraints& all, const Place& place,
                        std::vector<StateId>& next) {
    if (all.values.has_value()) {
      next.push_back(Literals(*all.values));
      return absl::OkStatus();
    }
    if (all.types & kObject) {
      GLM_ASSIGN_OR_RETURN(StateId object, Object(all, place));
      next.push_back(object);
    }
    if (all.types & kArray) {
      next.push_back(Array(all));
    }
    if (all.types & kString) {
      GLM_ASSIGN_OR_RETURN(StateId string, String(all));
      next.push_back(string);
    }
    if (all.types & kFraction) {
      next.push_back(AddNumber(automaton_, all.numbers));
    } else if (all.types & kInteger) {
      next.push_back(AddInteger(automaton_, all.numbers));
    }
    if (all.types & kBoolean) {
      next.push_back(automaton_.AddText("true", kReturn));
      next.push_back(automaton_.AddText("false", kReturn));
    }
    if (all.types & kNull) {
      next.push_back(automaton_.AddText("null", kReturn));
    }
    return absl::OkStatus();
  }

  StateId Literals(const std::vector<const Json*>& values) {
    StateId root = automaton_.AddBytes();
    std::vector<StateId> ends;
    for (const Json* value : values) {
      ends.push_back(automaton_.AddToTree(root, Spelled(*value)));
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (StateId end : ends) {
      if (automaton_.overflowed()) {
        break;
      }
      StateId longer = automaton_.AddBytes(std::move(automaton_[end].edges));
      automaton_[end].edges.clear();
      automaton_[end].kind = State::Kind::kSplit;
      automaton_[end].next = {longer, kReturn};
    }
    return root;
  }

  absl::StatusOr<StateId> String(const Constraints& all) {
    if (!all.pattern.has_value()) {
      return strings_.String(all.length.min, all.length.max);
    }
    if (!all.length.limits()) {
      return strings_.StringOf(*all.pattern);
    }
    std::optional<CodePointSet> lengths =
        Lengths(all.length.min, all.length.max);
    std::optional<CodePointSet> set =
        lengths.has_value() ? Both(*all.pattern, *lengths) : std::nullopt;
    if (!set.has_value()) {
      return all.pattern_place.TooMuch(
          "too many states together with minLength and maxLength; lower them");
    }
    return strings_.StringOf(*set);
  }

  // Space after an opening bracket or a comma, or before a closing bracket.
  void MakeSpace() {
    std::vector<StateId> indents;
    for (auto [byte, count] : {std::pair<uint8_t, int>{' ', kMaxIndentSpaces},
                               {'\t', kMaxIndentTabs}}) {
      StateId indent = kReturn;
      for (int i = 0; i < count; ++i) {
        indent =
            automaton_.AddSplit({automaton_.AddByte(byte, indent), kReturn});
      }
      indents.push_back(indent);
    }
    StateId line = automaton_.AddBytes(
        {{'\n', '\n', automaton_.AddSplit(std::move(indents))},
         {' ', ' ', kReturn}});
    space_ = automaton_.AddSplit({line, kReturn});
  }

  StateId Spaced(StateId then) { return automaton_.AddCall(space_, then); }
  StateId Comma(StateId then) { return automaton_.AddByte(',', Spaced(then)); }

  StateId Array(const Constraints& all) {
    size_t prefix = 0;
    for (const ArrayKeywords& keywords : all.arrays) {
      prefix = std::max(prefix, keywords.prefix.size());
    }
    auto item = [&](size_t index) {
      Places places;
      for (const ArrayKeywords& keywords : all.arrays) {
        if (index < keywords.prefix.size()) {
          places.push_back(keywords.prefix[index]);
        } else if (keywords.rest.has_value()) {
          places.push_back(*keywords.rest);
        }
      }
      return Rule(places);
    };
    StateId close = automaton_.AddByte(']', kReturn);
    StateId spaced_close = Spaced(close);
    // `after` is where at least `known` items are.
    size_t known = std::max<size_t>(prefix, 1);
    StateId further = Comma(automaton_.AddCall(item(known), kReturn));
    StateId after = automaton_.AddLoop(further, Less(all.items.min, known),
                                       Most(all.items, known), spaced_close);
    StateId first = 0;
    for (size_t i = known; i-- > 0;) {
      std::vector<StateId> next;
      bool more = i < all.items.max.value_or(UINT64_MAX);
      if (more) {
        StateId value = automaton_.AddCall(item(i), after);
        next.push_back(i == 0 ? value : Comma(value));
      }
      if (i >= all.items.min) {
        next.push_back(i == 0 ? close : spaced_close);
      }
      after = automaton_.AddSplit(std::move(next));
      first = after;
    }
    return automaton_.AddByte('[', Spaced(first));
  }

  struct Property {
    std::string name;
    Places places;
    bool required;
  };

  std::vector<Property> Properties(const Constraints& all) const {
    std::vector<std::string> names;
    auto add = [&](const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    };
    for (const ObjectKeywords& keywords : all.objects) {
      if (keywords.properties.has_value()) {
        for (const auto& item : keywords.properties->schema->items()) {
          if (names.size() > kMaxProperties) {
            break;
          }
          add(item.key());
        }
      }
    }
    for (const std::string& name : all.required) {
      if (names.size() > kMaxProperties) {
        break;
      }
      add(name);
    }
    std::vector<Property> properties;
    for (const std::string& name : names) {
      Property property{name, {}, false};
      for (const ObjectKeywords& keywords : all.objects) {
        if (keywords.properties.has_value() &&
            keywords.properties->schema->contains(name)) {
          property.places.push_back(keywords.properties->At(name));
        } else if (keywords.additional.has_value()) {
          property.places.push_back(*keywords.additional);
        }
      }
      property.required = std::find(all.required.begin(), all.required.end(),
                                    name) != all.required.end();
      properties.push_back(std::move(property));
    }
    return properties;
  }

  // `"key":value` of a property that no schema names.
  StateId Additional(const Constraints& all,
                     const std::vector<std::string>& names, StateId then) {
    Places places;
    for (const ObjectKeywords& keywords : all.objects) {
      if (keywords.additional.has_value()) {
        places.push_back(*keywords.additional);
      }
    }
    return automaton_.AddCall(strings_.KeyBut(names),
                              Value(Rule(places), then));
  }

  StateId Value(StateId rule, StateId then) {
    StateId value = automaton_.AddCall(rule, then);
    return automaton_.AddByte(
        ':', automaton_.AddSplit({automaton_.AddByte(' ', value), value}));
  }

  // An object of properties that no schema names, counted.
  StateId Map(const Constraints& all) {
    StateId close = automaton_.AddByte('}', kReturn);
    StateId further = Comma(Additional(all, {}, kReturn));
    StateId after = automaton_.AddLoop(further, Less(all.properties.min, 1),
                                       Most(all.properties, 1), Spaced(close));
    std::vector<StateId> first;
    if (all.properties.max.value_or(1) > 0) {
      first.push_back(Additional(all, {}, after));
    }
    if (all.properties.min == 0) {
      first.push_back(close);
    }
    return automaton_.AddByte('{',
                              Spaced(automaton_.AddSplit(std::move(first))));
  }

  static bool IsClosed(const Constraints& all) {
    return std::any_of(all.objects.begin(), all.objects.end(),
                       [](const ObjectKeywords& keywords) {
                         return keywords.additional.has_value() &&
                                *keywords.additional->schema == false;
                       });
  }

  absl::StatusOr<StateId> Object(const Constraints& all, const Place& place) {
    std::vector<Property> properties = Properties(all);
    if (properties.empty()) {
      return Map(all);
    }
    if (properties.size() > kMaxProperties) {
      return place.TooMuch(absl::StrCat("more than ", kMaxProperties,
                                        " properties in one object"));
    }
    auto required = static_cast<uint64_t>(
        std::count_if(properties.begin(), properties.end(),
                      [](const Property& p) { return p.required; }));
    if (all.properties.min > required ||
        (all.properties.max.has_value() &&
         !(IsClosed(all) && properties.size() <= *all.properties.max))) {
      return place.Bad(
          "minProperties and maxProperties beside named properties are not "
          "supported; use required and additionalProperties");
    }
    std::vector<std::string> names;
    for (const Property& property : properties) {
      std::string quoted = Spelled(property.name);
      names.push_back(quoted.substr(1, quoted.size() - 2));
    }
    StateId close = automaton_.AddByte('}', kReturn);
    StateId spaced_close = Spaced(close);
    // `next`: a property from here on. `after`: one has just ended.
    StateId after = automaton_.AddSplit();
    StateId next = Additional(all, names, after);
    automaton_[after].next = {Comma(next), spaced_close};
    bool may_end = true;
    for (size_t i = properties.size(); i-- > 0;) {
      StateId value = Value(Rule(properties[i].places), after);
      StateId here =
          automaton_.AddText(absl::StrCat("\"", names[i], "\""), value);
      next = properties[i].required ? here : automaton_.AddSplit({here, next});
      may_end &= !properties[i].required;
      std::vector<StateId> ways = {Comma(next)};
      if (may_end) {
        ways.push_back(spaced_close);
      }
      after = automaton_.AddSplit(std::move(ways));
    }
    std::vector<StateId> first = {next};
    if (may_end) {
      first.push_back(close);
    }
    return automaton_.AddByte('{',
                              Spaced(automaton_.AddSplit(std::move(first))));
  }

  Automaton automaton_;
  SchemaReader reader_;
  StringRules strings_;
  const Json& schema_;
  StateId space_ = kReturn;
  std::map<std::vector<const Json*>, StateId> rule_of_;
  std::vector<Pending> rules_;
};

}  // namespace

absl::StatusOr<Automaton> CompileSchema(const Json& schema) {
  GLM_RETURN_IF_ERROR(CheckSize(schema));
  return Compiler(schema).Compile();
}

}  // namespace glm::grammar
