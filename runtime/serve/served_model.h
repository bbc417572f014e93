// The model that a server answers with, once it is loaded.
#ifndef GLM_RUNTIME_SERVE_SERVED_MODEL_H_
#define GLM_RUNTIME_SERVE_SERVED_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/grammar/answer_grammars.h"
#include "runtime/text/tokenizer.h"

namespace glm::serve {

// Immutable once it is served.
struct ServedModel {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string name;         // that clients give as `model`
  std::string fingerprint;  // system_fingerprint
  int64_t created = 0;      // seconds since 1970
  SamplerOptions sampling;  // where a request says nothing
  std::vector<int32_t> stop_ids;
  // Null: answers cannot be held to anything, and requests for it are refused.
  std::shared_ptr<grammar::AnswerGrammars> grammars;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_SERVED_MODEL_H_
