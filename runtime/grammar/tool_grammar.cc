#include "runtime/grammar/tool_grammar.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/grammar/limits.h"
#include "runtime/grammar/pattern.h"
#include "runtime/grammar/rule_builder.h"

namespace glm::grammar {
namespace {

// Of keys that no schema names: the wire format drops blanks around them.
constexpr std::string_view kOtherKeys = "^[^\\s<>]+$";

// From the schema of a tool's arguments to rules of their values.
class ToolCompiler {
 public:
  ToolCompiler(const Json& parameters, bool strict)
      : root_{&parameters, ""}, strict_(strict), builder_(parameters) {
    any_text_ = builder_.strings().RawString(0, std::nullopt);
  }

  absl::StatusOr<CompiledTool> Compile(size_t max_masks) {
    absl::Status read = Read();
    if (read.ok()) read = AddRules();
    if (!read.ok()) {
      if (strict_ || builder_.automaton().overflowed()) return read;
      builder_.ForgetFrom(0);
      named_.clear();
      others_ = Values{{}, false, any_text_};
    }
    StateId keys = 0;
    if (others_.has_value()) {
      GLM_ASSIGN_OR_RETURN(CodePointSet set,
                           ParsePattern(kOtherKeys, builder_.work()));
      keys = builder_.strings().RawStringOf(set);
    }
    if (builder_.automaton().overflowed()) return TooManyStates();
    return Finish(keys, max_masks);
  }

 private:
  struct Values {
    std::vector<Places> alternatives;
    bool required = false;
    StateId rule = 0;
    size_t rules = 0;  // that the builder had before
  };

  absl::Status TooManyStates() const {
    return root_.TooMuch(absl::StrCat("more than ", kMaxAutomatonStates,
                                      " states are needed; make it smaller"));
  }

  // Which arguments there are.
  absl::Status Read() {
    GLM_RETURN_IF_ERROR(CheckSize(*root_.schema));
    GLM_ASSIGN_OR_RETURN(std::vector<Places> alternatives,
                         builder_.reader().Alternatives({root_}));
    std::map<std::string, size_t> required;  // in how many alternatives
    size_t objects = 0;
    for (const Places& alternative : alternatives) {
      GLM_ASSIGN_OR_RETURN(Constraints all,
                           Merge(alternative, builder_.work()));
      if ((all.types & kObject) == 0) continue;
      ++objects;
      if (strict_) GLM_RETURN_IF_ERROR(CheckStrict(all, objects));
      std::vector<Property> properties = PropertiesOf(all);
      if (properties.size() > kMaxProperties) {
        return root_.TooMuch(absl::StrCat("more than ", kMaxProperties,
                                          " properties in one object"));
      }
      for (Property& property : properties) {
        named_[property.name].alternatives.push_back(
            std::move(property.places));
        required[property.name] += property.required ? 1 : 0;
      }
      const bool says_nothing = all.objects.empty() && all.required.empty();
      if (!IsClosed(all) && (says_nothing || !AdditionalOf(all).empty())) {
        if (!others_.has_value()) others_.emplace();
        others_->alternatives.push_back(AdditionalOf(all));
      }
    }
    if (objects == 0) {
      return root_.Bad(
          "no object is right here; the arguments of a call are one");
    }
    for (auto& [key, values] : named_) {
      values.required = required[key] == objects;
    }
    return absl::OkStatus();
  }

  absl::Status CheckStrict(const Constraints& all, size_t objects) const {
    if (objects > 1) {
      return root_.Bad(
          "anyOf and oneOf at the top of a strict tool's parameters are not "
          "supported; use one object of properties, or strict false");
    }
    if (all.properties.limits() || all.values.has_value()) {
      return root_.Bad(
          "minProperties, maxProperties, enum and const at the top of a strict "
          "tool's parameters are not supported; use required, or strict false");
    }
    return absl::OkStatus();
  }

  absl::Status AddRules() {
    for (auto& [key, values] : named_) GLM_RETURN_IF_ERROR(AddRule(values));
    return others_.has_value() ? AddRule(*others_) : absl::OkStatus();
  }

  absl::Status AddRule(Values& values) {
    values.rules = builder_.rules();
    std::vector<StateId> rules;
    for (const Places& places : values.alternatives) {
      rules.push_back(builder_.RawRule(places));
    }
    absl::Status built = builder_.BuildAll();
    if (!built.ok()) {
      if (strict_ || builder_.automaton().overflowed()) return built;
      builder_.ForgetFrom(values.rules);
      values.rule = any_text_;
      return absl::OkStatus();
    }
    const bool string =
        std::any_of(rules.begin(), rules.end(),
                    [&](StateId rule) { return builder_.MayBeString(rule); });
    values.rule = rules.size() == 1
                      ? rules[0]
                      : builder_.automaton().AddSplit(std::move(rules));
    if (string) strings_.insert(values.rule);
    return absl::OkStatus();
  }

  absl::StatusOr<CompiledTool> Finish(StateId keys, size_t max_masks) {
    Automaton& automaton = builder_.automaton();
    automaton.root = any_text_;
    const std::vector<uint64_t> least = automaton.Trim();
    CompiledTool tool;
    tool.other_keys = keys;
    for (auto& [key, values] : named_) {
      if (least[values.rule] == kNever) {
        if (!values.required) continue;  // there is no such argument
        if (strict_) return builder_.NoValue(least, values.rules);
        values.rule = any_text_;
      }
      tool.arguments.push_back(Argument(key, values));
      if (values.required) {
        // No answer is that long, and sums stay far from the end.
        tool.least_bytes +=
            key.size() + std::min(least[values.rule], uint64_t{1} << 40);
      }
    }
    if (others_.has_value() && least[others_->rule] != kNever) {
      tool.others = Argument("", *others_);
    }
    tool.grammar = std::make_shared<const CompiledGrammar>(std::move(automaton),
                                                           max_masks);
    return tool;
  }

  ToolArgument Argument(const std::string& key, const Values& values) {
    const bool string =
        values.rule == any_text_ || strings_.contains(values.rule);
    return {key, values.required, values.rule,
            builder_.automaton().has_free_keys && !string};
  }

  const Place root_;
  const bool strict_;
  RuleBuilder builder_;
  StateId any_text_ = 0;
  std::map<std::string, Values> named_;
  std::optional<Values> others_;
  std::set<StateId> strings_;  // rules that have one
};

}  // namespace

absl::StatusOr<CompiledTool> CompileTool(const Json& function,
                                         size_t max_masks) {
  static const Json kNoArguments = {{"type", "object"},
                                    {"properties", Json::object()}};
  const auto strict = function.find("strict");
  const auto parameters = function.find("parameters");
  const bool none = parameters == function.end() || parameters->is_null();
  GLM_ASSIGN_OR_RETURN(CompiledTool tool,
                       ToolCompiler(none ? kNoArguments : *parameters,
                                    strict != function.end() && *strict == true)
                           .Compile(max_masks));
  tool.name = function.at("name").get<std::string>();
  tool.least_bytes += tool.name.size();
  return tool;
}

absl::StatusOr<std::shared_ptr<const ToolGrammar>> ToolGrammar::FromTools(
    const std::vector<Json>& tools) {
  // Together they keep about as many masks as one grammar does.
  const size_t max_masks =
      std::max<size_t>(8, kMaxCachedMasks / std::max<size_t>(tools.size(), 1));
  std::vector<CompiledTool> compiled;
  size_t states = 0;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place =
        absl::StrCat("tools[", i, "].function.parameters: ");
    const auto function = tools[i].find("function");
    absl::StatusOr<CompiledTool> tool = CompileTool(
        function == tools[i].end() ? tools[i] : *function, max_masks);
    if (!tool.ok()) {
      return absl::Status(
          tool.status().code(),
          absl::StrCat(place, std::string(tool.status().message())));
    }
    states += tool->grammar->automaton().size();
    if (states > 2 * kMaxAutomatonStates) {
      return absl::ResourceExhaustedError(
          absl::StrCat(place, "the tools up to here need more than ",
                       2 * kMaxAutomatonStates, " states; send fewer tools"));
    }
    compiled.push_back(*std::move(tool));
  }
  std::sort(compiled.begin(), compiled.end(),
            [](const CompiledTool& a, const CompiledTool& b) {
              return a.name < b.name;
            });
  return std::make_shared<const CompiledTools>(std::move(compiled));
}

uint64_t CompiledTools::LeastBytes(std::string_view name) const {
  uint64_t least = kNever;
  for (const CompiledTool& tool : tools_) {
    if (name.empty() || tool.name == name) {
      least = std::min(least, tool.least_bytes);
    }
  }
  return least;
}

}  // namespace glm::grammar
