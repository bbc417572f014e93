// `RunRequest` gives the choices of one HTTP request to the engine and what
// comes of them to the client.
//
// The engine's thread makes text and JSON and appends it to the exchange's
// queue; it never waits for a client. A client that goes, or does not read,
// ends its choices within a step. Choices that have ended are not cancelled.
#ifndef GLM_RUNTIME_SERVE_REQUEST_RUNNER_H_
#define GLM_RUNTIME_SERVE_REQUEST_RUNNER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/serve/answer.h"
#include "runtime/serve/http_exchange.h"

namespace glm::serve {

struct RequestChoice {
  EngineRequest request;  // without a listener
  std::unique_ptr<AnswerText> text;
  bool counts_prompt = false;  // in the usage: the first of each prompt
};

struct RequestReport {
  enum class Outcome {
    kFinished,
    kRefused,  // the engine did not take it
    kAborted,  // the client went, or did not read
    kFailed,   // in the middle; kCancelled by a drain too
  };
  Outcome outcome = Outcome::kFinished;
  absl::Status status;
  AnswerUsage usage;
  std::vector<RequestResult> results;  // of the choices, as far as there are
  std::string finish_reason;           // of the first choice
};

struct RequestRun {
  std::shared_ptr<HttpExchange> exchange;
  // Not owned: the last to let go of a request is the engine's own thread,
  // which could not end the engine.
  Engine* engine = nullptr;
  std::unique_ptr<AnswerFormat> format;
  std::vector<RequestChoice> choices;
  bool stream = false;
  bool include_usage = false;
  // Called once, when the engine is through with all choices.
  std::function<void(const RequestReport&)> on_end;
};

// Returns when the engine has the request, or refused it. Any thread but the
// engine's.
void RunRequest(RequestRun run);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_REQUEST_RUNNER_H_
