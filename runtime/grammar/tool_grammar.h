// `CompiledTools` is what calls of a request's tools are held to: names, keys
// of arguments, and of each argument the texts of its value.
#ifndef GLM_RUNTIME_GRAMMAR_TOOL_GRAMMAR_H_
#define GLM_RUNTIME_GRAMMAR_TOOL_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/answer_grammars.h"
#include "runtime/grammar/automaton.h"
#include "runtime/grammar/grammar_run.h"

namespace glm::grammar {

struct ToolArgument {
  std::string key;  // empty: of those that have no name
  bool required = false;
  StateId rule = 0;          // of its values, in the tool's grammar
  bool tracks_keys = false;  // see GrammarRun
};

struct CompiledTool {
  std::string name;
  std::shared_ptr<const CompiledGrammar> grammar;
  std::vector<ToolArgument> arguments;  // by key
  std::optional<ToolArgument> others;   // nothing: there are none
  StateId other_keys = 0;               // the rule of their keys
  uint64_t least_bytes = 0;             // of a call, without its markers
};

class CompiledTools : public ToolGrammar {
 public:
  explicit CompiledTools(std::vector<CompiledTool> by_name)
      : tools_(std::move(by_name)) {}

  uint64_t LeastBytes(std::string_view name) const override;
  const std::vector<CompiledTool>& tools() const { return tools_; }

 private:
  const std::vector<CompiledTool> tools_;
};

// `max_masks`: kept of the tool's grammar. Errors: as ToolGrammar::FromTools,
// without the tool's place.
absl::StatusOr<CompiledTool> CompileTool(const nlohmann::ordered_json& function,
                                         size_t max_masks);

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_TOOL_GRAMMAR_H_
