// Rules of arrays and objects.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/rule_builder.h"

namespace glm::grammar {
namespace {

constexpr StateId kReturn = Automaton::kReturnState;

uint32_t Clamped(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, INT32_MAX));
}

uint32_t Less(uint64_t count, uint64_t by) {
  return count > by ? Clamped(count - by) : 0;
}

uint32_t Most(const Count& count, uint64_t by) {
  return count.max.has_value() ? Less(*count.max, by) : kUnbounded;
}

}  // namespace

std::vector<Property> PropertiesOf(const Constraints& all) {
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

Places AdditionalOf(const Constraints& all) {
  Places places;
  for (const ObjectKeywords& keywords : all.objects) {
    if (keywords.additional.has_value()) {
      places.push_back(*keywords.additional);
    }
  }
  return places;
}

bool IsClosed(const Constraints& all) {
  return std::any_of(all.objects.begin(), all.objects.end(),
                     [](const ObjectKeywords& keywords) {
                       return keywords.additional.has_value() &&
                              *keywords.additional->schema == false;
                     });
}

StateId RuleBuilder::Array(const Constraints& all) {
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

StateId RuleBuilder::Additional(const Constraints& all,
                                const std::vector<std::string>& names,
                                StateId then) {
  return automaton_.AddCall(strings_.KeyBut(names),
                            Value(Rule(AdditionalOf(all)), then));
}

StateId RuleBuilder::Value(StateId rule, StateId then) {
  StateId value = automaton_.AddCall(rule, then);
  return automaton_.AddByte(
      ':', automaton_.AddSplit({automaton_.AddByte(' ', value), value}));
}

StateId RuleBuilder::Map(const Constraints& all) {
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
  return automaton_.AddByte('{', Spaced(automaton_.AddSplit(std::move(first))));
}

absl::StatusOr<StateId> RuleBuilder::Object(const Constraints& all,
                                            const Place& place) {
  std::vector<Property> properties = PropertiesOf(all);
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
  return automaton_.AddByte('{', Spaced(automaton_.AddSplit(std::move(first))));
}

}  // namespace glm::grammar
