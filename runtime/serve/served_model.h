// The model that a server answers with, once it is loaded.
#ifndef GLM_RUNTIME_SERVE_SERVED_MODEL_H_
#define GLM_RUNTIME_SERVE_SERVED_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/engine/engine.h"
#include "runtime/grammar/json_grammar.h"
#include "runtime/text/tokenizer.h"

namespace glm::serve {

// The constraint for JSON of `schema`; null: any object. Called on any thread.
using JsonConstraintMaker =
    std::function<absl::StatusOr<std::shared_ptr<TokenConstraint>>(
        const nlohmann::ordered_json* schema,
        grammar::JsonConstraintOptions options)>;

// Immutable once it is served.
struct ServedModel {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string name;         // that clients give as `model`
  std::string fingerprint;  // system_fingerprint
  int64_t created = 0;      // seconds since 1970
  SamplerOptions sampling;  // where a request says nothing
  std::vector<int32_t> stop_ids;
  JsonConstraintMaker json;  // null: response_format is refused
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_SERVED_MODEL_H_
