// `OpenAiApi` is what the server serves: the routes of OpenAI's API that a chat
// model has, health, metrics, text to ids and back, and a page to chat with.
//
//   GET  /health /ready /metrics /v1/models /v1/models/{name}
//   GET  / and the files of the page (page_routes.h)
//   POST /v1/completions /v1/chat/completions /tokenize /detokenize
//
// It answers from the start: 503 until a model is there.
#ifndef GLM_RUNTIME_SERVE_OPENAI_API_H_
#define GLM_RUNTIME_SERVE_OPENAI_API_H_

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/serve/api_error.h"
#include "runtime/serve/generation_request.h"
#include "runtime/serve/http_server.h"
#include "runtime/serve/metrics.h"
#include "runtime/serve/request_log.h"
#include "runtime/serve/request_runner.h"
#include "runtime/serve/served_model.h"
#include "runtime/serve/server_state.h"

namespace glm::serve {

struct OpenAiApiOptions {
  // Any of them lets a request in; empty: all are let in. /health, /ready
  // and the page need none.
  std::vector<std::string> api_keys;
  std::chrono::seconds stall_limit{60};
  RequestLogger log;                              // null: none
  std::function<std::vector<TierBytes>()> tiers;  // null: none; any thread
};

// Thread-safe. Outlives the server that it is configured into, and the engine's
// requests.
class OpenAiApi {
 public:
  explicit OpenAiApi(OpenAiApiOptions options);
  OpenAiApi(const OpenAiApi&) = delete;
  OpenAiApi& operator=(const OpenAiApi&) = delete;

  // Sets routes, check_head and error_response.
  void Configure(HttpServerOptions& options);

  // From now on there is a model. Once.
  void Serve(std::shared_ptr<const ServedModel> model);
  void Drain() { state_.SetDraining(); }
  void Fail(std::string why) { state_.SetFailed(std::move(why)); }

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  using Clock = std::chrono::steady_clock;

  // One request on its way.
  struct Call {
    Exchange exchange;
    Clock::time_point begin;
    std::shared_ptr<const ServedModel> model;
  };

  std::optional<HttpResponse> CheckHead(const HttpRequest& request);
  HttpResponse TransportError(int status, std::string_view message,
                              const HttpRequest& request);
  void Health(const Exchange& exchange, bool ready);
  void ShowMetrics(const Exchange& exchange);
  void Models(const Exchange& exchange);
  void Model(const Exchange& exchange);
  absl::Status Chat(const Call& call);
  absl::Status Completion(const Call& call);
  // Gives the choices of `run`, whose format is set, to the engine.
  void Run(const Call& call, const GenerationRequest& generation,
           const std::string& id, RequestRun run);
  absl::Status Tokenize(const Call& call);
  absl::Status Detokenize(const Call& call);

  void Add(HttpServerOptions& options, const char* method, const char* path,
           void (OpenAiApi::*handler)(const Exchange&));
  // A route that needs a model; its error is the answer.
  void AddPost(HttpServerOptions& options, const char* path,
               absl::Status (OpenAiApi::*handler)(const Call&));
  void Answer(const Exchange& exchange, HttpResponse response,
              Clock::time_point begin);
  HttpResponse Refusal(const ApiError& error, const HttpRequest& request,
                       std::chrono::duration<double> seconds);
  std::function<void(const RequestReport&)> OnEnd(const Call& call,
                                                  std::string id, bool stream);

  std::shared_ptr<const ServedModel> model() const;
  std::optional<EngineStats> stats() const;

  const OpenAiApiOptions options_;
  ServerState state_;
  Metrics metrics_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ServedModel> model_;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_OPENAI_API_H_
