#include "runtime/serve/openai_api.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/serve/api_error.h"
#include "runtime/serve/json_text.h"
#include "runtime/serve/page_routes.h"

namespace glm::serve {
namespace {

using nlohmann::ordered_json;

// In a time that does not tell how much of it is right.
bool SameKey(std::string_view given, std::string_view key) {
  unsigned differs = given.size() != key.size();
  for (size_t i = 0; i < key.size(); ++i) {
    const char other = given.empty() ? 0 : given[i % given.size()];
    differs |= static_cast<unsigned char>(other ^ key[i]);
  }
  return differs == 0;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out +=
          static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

ordered_json ModelJson(const ServedModel& model) {
  ordered_json json;
  json["id"] = model.name;
  json["object"] = "model";
  json["created"] = model.created;
  json["owned_by"] = "glmrun";
  json["max_model_len"] = model.engine->model().max_context;
  return json;
}

constexpr char kModelsPath[] = "/v1/models/";

}  // namespace

OpenAiApi::OpenAiApi(OpenAiApiOptions options)
    : options_(std::move(options)), state_(options_.stall_limit) {}

void OpenAiApi::Serve(std::shared_ptr<const ServedModel> model) {
  {
    const std::lock_guard lock(mutex_);
    model_ = std::move(model);
  }
  state_.SetServing();
}

std::shared_ptr<const ServedModel> OpenAiApi::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

std::optional<EngineStats> OpenAiApi::stats() const {
  const auto served = model();
  if (served == nullptr) return std::nullopt;
  return served->engine->stats();
}

void OpenAiApi::Add(HttpServerOptions& options, const char* method,
                    const char* path,
                    void (OpenAiApi::*handler)(const Exchange&)) {
  options.routes.push_back(
      {method, path, /*on_worker=*/false,
       [this, handler](Exchange exchange) { (this->*handler)(exchange); }});
}

void OpenAiApi::AddPost(HttpServerOptions& options, const char* path,
                        absl::Status (OpenAiApi::*handler)(const Call&)) {
  options.routes.push_back(
      {"POST", path, /*on_worker=*/true, [this, handler](Exchange exchange) {
         const Call call{exchange, Clock::now(), model()};
         absl::Status status = state_.CheckServing(stats());
         if (status.ok()) status = (this->*handler)(call);
         if (status.ok()) return;
         exchange->Respond(Refusal(ApiErrorOf(status), exchange->request(),
                                   Clock::now() - call.begin));
       }});
}

void OpenAiApi::Configure(HttpServerOptions& options) {
  for (const bool ready : {false, true}) {
    options.routes.push_back(
        {"GET", ready ? "/ready" : "/health", /*on_worker=*/false,
         [this, ready](Exchange exchange) { Health(exchange, ready); }});
  }
  Add(options, "GET", "/metrics", &OpenAiApi::ShowMetrics);
  Add(options, "GET", "/v1/models", &OpenAiApi::Models);
  Add(options, "GET", "/v1/models/*", &OpenAiApi::Model);
  AddPost(options, "/v1/chat/completions", &OpenAiApi::Chat);
  AddPost(options, "/v1/completions", &OpenAiApi::Completion);
  AddPost(options, "/tokenize", &OpenAiApi::Tokenize);
  AddPost(options, "/detokenize", &OpenAiApi::Detokenize);
  AddPageRoutes(options);
  options.check_head = [this](const HttpRequest& request) {
    return CheckHead(request);
  };
  options.error_response = [this](int status, std::string_view message,
                                  const HttpRequest& request) {
    return TransportError(status, message, request);
  };
}

std::optional<HttpResponse> OpenAiApi::CheckHead(const HttpRequest& request) {
  if (options_.api_keys.empty() || request.path == "/health" ||
      request.path == "/ready" || IsPagePath(request.path)) {
    return std::nullopt;
  }
  std::string_view given = request.Header("authorization");
  constexpr std::string_view kBearer = "Bearer ";
  const bool bearer = absl::StartsWithIgnoreCase(
      {given.data(), given.size()}, {kBearer.data(), kBearer.size()});
  if (bearer) given.remove_prefix(kBearer.size());
  bool known = false;
  for (const std::string& key : options_.api_keys) {
    known |= bearer && SameKey(given, key);
  }
  if (known) return std::nullopt;
  return Refusal(ApiErrorOf(absl::UnauthenticatedError(
                     "the API key is missing or wrong; send the header "
                     "Authorization: Bearer KEY")),
                 request, std::chrono::duration<double>(0));
}

HttpResponse OpenAiApi::TransportError(int status, std::string_view message,
                                       const HttpRequest& request) {
  return Refusal(ApiErrorOf(status, message), request,
                 std::chrono::duration<double>(0));
}

HttpResponse OpenAiApi::Refusal(const ApiError& error,
                                const HttpRequest& request,
                                std::chrono::duration<double> seconds) {
  metrics_.AddError(error.http_status, error.code);
  if (options_.log) {
    options_.log({.peer = request.peer,
                  .method = request.method,
                  .path = request.path,
                  .http_status = error.http_status,
                  .code = error.code,
                  .seconds = seconds});
  }
  return ErrorResponse(error);
}

void OpenAiApi::Health(const Exchange& exchange, bool ready) {
  const auto engine = stats();
  const auto now = ServerState::Clock::now();
  const HealthReport report =
      ready ? state_.Ready(engine, now) : state_.Health(engine, now);
  ordered_json json;
  json["status"] = report.status;
  if (!report.message.empty()) json["message"] = report.message;
  HttpResponse response{.status = report.ok ? 200 : 503,
                        .body = JsonText(json)};
  if (!report.ok) response.headers = {{"Retry-After", "5"}};
  exchange->Respond(std::move(response));
}

void OpenAiApi::ShowMetrics(const Exchange& exchange) {
  const auto engine = stats();
  exchange->Respond(
      {.content_type = kMetricsContentType,
       .body = metrics_.Text(
           ServerPhaseName(state_.phase(engine)), engine,
           options_.tiers ? options_.tiers() : std::vector<TierBytes>())});
}

void OpenAiApi::Models(const Exchange& exchange) {
  ordered_json json;
  json["object"] = "list";
  json["data"] = ordered_json::array();
  if (const auto served = model()) json["data"].push_back(ModelJson(*served));
  exchange->Respond({.body = JsonText(json)});
}

void OpenAiApi::Model(const Exchange& exchange) {
  const auto served = model();
  const std::string name =
      PercentDecoded(std::string_view(exchange->request().path)
                         .substr(sizeof(kModelsPath) - 1));
  if (served != nullptr && name == served->name) {
    return exchange->Respond({.body = JsonText(ModelJson(*served))});
  }
  exchange->Respond(Refusal(
      ApiErrorOf(WithCode(
          absl::NotFoundError(absl::StrCat("there is no model '", name, "'")),
          "model_not_found")),
      exchange->request(), std::chrono::duration<double>(0)));
}

std::function<void(const RequestReport&)> OpenAiApi::OnEnd(const Call& call,
                                                           std::string id,
                                                           bool stream) {
  return [this, exchange = call.exchange, begin = call.begin,
          id = std::move(id), stream](const RequestReport& report) {
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    const HttpRequest& request = exchange->request();
    metrics_.AddRequest(request.path, report, seconds);
    RequestLogEntry entry{.id = id,
                          .peer = request.peer,
                          .method = request.method,
                          .path = request.path,
                          .stream = stream,
                          .seconds = seconds,
                          .has_report = true,
                          .report = report};
    if (!report.status.ok()) {
      const ApiError error = ApiErrorOf(report.status);
      // A stream that has begun is 200 whatever comes.
      const bool late =
          stream && report.outcome == RequestReport::Outcome::kFailed;
      entry.http_status = late ? 200 : error.http_status;
      entry.code = error.code;
      metrics_.AddError(entry.http_status, error.code);
    }
    if (options_.log) options_.log(entry);
  };
}

}  // namespace glm::serve
