#include "runtime/grammar/rule_builder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/number_rules.h"

namespace glm::grammar {
namespace {

constexpr StateId kReturn = Automaton::kReturnState;

}  // namespace

std::string Spelled(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RuleBuilder::RuleBuilder(const Json& document)
    : document_(document), reader_(document), strings_(automaton_) {
  MakeSpace();
}

StateId RuleBuilder::Rule(const Places& all) {
  std::vector<const Json*> key;
  for (const Place& place : all) {
    key.push_back(place.schema);
  }
  std::sort(key.begin(), key.end());
  auto [at, added] = rule_of_.try_emplace(std::move(key), 0);
  if (added) {
    at->second = automaton_.AddSplit();
    rules_.push_back({at->second, all, /*raw=*/false});
  }
  return at->second;
}

StateId RuleBuilder::RawRule(const Places& all) {
  StateId state = automaton_.AddSplit();
  rules_.push_back({state, all, /*raw=*/true});
  return state;
}

absl::Status RuleBuilder::BuildAll() {
  for (; built_ < rules_.size(); ++built_) {
    // A copy: the list grows meanwhile.
    const Pending rule = rules_[built_];
    GLM_RETURN_IF_ERROR(Build(rule));
    if (automaton_.overflowed()) {
      return PlaceOf(rule.all).TooMuch(
          absl::StrCat("the schema needs more than ", kMaxAutomatonStates,
                       " states; make it smaller"));
    }
  }
  return absl::OkStatus();
}

void RuleBuilder::ForgetFrom(size_t rules) {
  if (rules >= rules_.size()) {
    return;
  }
  // A later rule has a later state.
  std::erase_if(rule_of_, [&](const auto& entry) {
    return entry.second >= rules_[rules].state;
  });
  rules_.resize(rules);
  built_ = rules;
}

absl::Status RuleBuilder::NoValue(const std::vector<uint64_t>& least,
                                  size_t first) const {
  size_t cause = first;
  for (size_t i = first; i < rules_.size(); ++i) {
    if (least[rules_[i].state] == kNever) {
      cause = i;
    }
  }
  return PlaceOf(rules_[cause].all)
      .Bad(
          "no finite JSON value is right here; what holds together "
          "contradicts itself or never ends");
}

absl::Status RuleBuilder::Build(const Pending& rule) {
  const Places& all = rule.all;
  GLM_ASSIGN_OR_RETURN(std::vector<Places> alternatives,
                       reader_.Alternatives(all));
  std::vector<StateId> next;
  for (const Places& alternative : alternatives) {
    if (automaton_.overflowed()) {
      break;
    }
    GLM_ASSIGN_OR_RETURN(Constraints constraints, Merge(alternative, work_));
    if (rule.raw && (constraints.types & kString) != 0) {
      raw_strings_.insert(rule.state);
    }
    GLM_RETURN_IF_ERROR(
        AddValue(constraints, PlaceOf(alternative), rule.raw, next));
  }
  automaton_[rule.state].next = std::move(next);
  return absl::OkStatus();
}

absl::Status RuleBuilder::AddValue(const Constraints& all, const Place& place,
                                   bool raw, std::vector<StateId>& next) {
  if (all.values.has_value()) {
    next.push_back(Literals(*all.values, raw));
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
    GLM_ASSIGN_OR_RETURN(StateId string, String(all, raw));
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

StateId RuleBuilder::Literals(const std::vector<const Json*>& values,
                              bool raw) {
  StateId root = automaton_.AddBytes();
  std::vector<StateId> ends;
  for (const Json* value : values) {
    ends.push_back(automaton_.AddToTree(
        root, raw && value->is_string() ? value->get_ref<const std::string&>()
                                        : Spelled(*value)));
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

absl::StatusOr<StateId> RuleBuilder::String(const Constraints& all, bool raw) {
  if (!all.pattern.has_value()) {
    return raw ? strings_.RawString(all.length.min, all.length.max)
               : strings_.String(all.length.min, all.length.max);
  }
  if (!all.length.limits()) {
    return raw ? strings_.RawStringOf(*all.pattern)
               : strings_.StringOf(*all.pattern);
  }
  std::optional<CodePointSet> lengths = Lengths(all.length.min, all.length.max);
  std::optional<CodePointSet> set =
      lengths.has_value() ? Both(*all.pattern, *lengths, work_) : std::nullopt;
  if (!set.has_value()) {
    return all.pattern_place.TooMuch(
        "too many states together with minLength and maxLength; lower them");
  }
  return raw ? strings_.RawStringOf(*set) : strings_.StringOf(*set);
}

void RuleBuilder::MakeSpace() {
  std::vector<StateId> indents;
  for (auto [byte, count] : {std::pair<uint8_t, int>{' ', kMaxIndentSpaces},
                             {'\t', kMaxIndentTabs}}) {
    StateId indent = kReturn;
    for (int i = 0; i < count; ++i) {
      indent = automaton_.AddSplit({automaton_.AddByte(byte, indent), kReturn});
    }
    indents.push_back(indent);
  }
  StateId line = automaton_.AddBytes(
      {{'\n', '\n', automaton_.AddSplit(std::move(indents))},
       {' ', ' ', kReturn}});
  space_ = automaton_.AddSplit({line, kReturn});
}

}  // namespace glm::grammar
