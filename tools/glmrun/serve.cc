// glmrun serve: OpenAI's API over HTTP.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/engine/batch_engine.h"
#include "runtime/executor/paged_experts.h"
#include "runtime/grammar/answer_grammars.h"
#include "runtime/serve/log_writer.h"
#include "runtime/serve/openai_api.h"
#include "tools/glmrun/command.h"
#include "tools/glmrun/serve_checks.h"
#include "tools/glmrun/serve_options.h"
#include "tools/glmrun/session.h"
#include "tools/glmrun/terminal.h"

namespace glm::tools {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSignalPoll{20};
// For answers that were just cut to reach their clients.
constexpr milliseconds kFlush{500};

// What the model is served with; lives from the load to the exit.
struct Loaded {
  std::unique_ptr<Session> session;
  std::shared_ptr<Engine> engine;
};

absl::StatusOr<ExpertTraffic> TrafficOf(const ObservableRunner& runner) {
  ExpertTraffic traffic;
  for (PagedExperts* experts : runner.paging()) {
    GLM_ASSIGN_OR_RETURN(const auto layers, experts->Counts());
    for (const ExpertCounts& layer : layers) {
      traffic.hits += layer.accesses - std::min(layer.accesses, layer.misses);
      traffic.misses += layer.misses;
      traffic.file_rows += layer.asked;
      traffic.host_bytes += layer.bytes_pinned;
      traffic.file_bytes += layer.bytes_file;
    }
  }
  return traffic;
}

absl::StatusOr<std::shared_ptr<Engine>> MakeEngine(ObservableRunner& runner,
                                                   const ServeOptions& options,
                                                   uint64_t cache_bytes) {
  BatchEngineOptions batch;
  batch.queue_limit = options.queue;
  batch.cache_bytes = cache_bytes;
  if (!runner.paging().empty()) {
    batch.expert_traffic = [&runner] { return TrafficOf(runner); };
  }
  GLM_ASSIGN_OR_RETURN(std::unique_ptr<BatchEngine> engine,
                       BatchEngine::Create(runner, batch));
  return std::shared_ptr<Engine>(std::move(engine));
}

// Of the plan's model and sizes: another plan answers otherwise.
std::string Fingerprint(const Session& session) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x100000001b3;
  };
  for (const char c : session.executor->model().name) {
    add(static_cast<unsigned char>(c));
  }
  for (const EntryInfo& entry : session.executor->entries()) {
    add(entry.launches);
    add(entry.weight_bytes);
    add(entry.flops);
  }
  return absl::StrCat("fp_", absl::Hex(hash, absl::kZeroPad16));
}

absl::StatusOr<std::shared_ptr<const serve::ServedModel>> Load(
    const ServeOptions& options, const MemoryShares& memory,
    const Interrupts& interrupts, Loaded& loaded) {
  SessionOptions session = options.session;
  session.slots = options.parallel;
  session.memory_limit = memory.plan_limit;
  session.experts.host_taken = memory.cache;
  Session& open = *loaded.session;
  GLM_RETURN_IF_ERROR(open.Load(session, interrupts));
  GLM_ASSIGN_OR_RETURN(loaded.engine,
                       MakeEngine(*open.executor, options, memory.cache));
  const GenerateOptions generation = open.Generation({});
  auto model = std::make_shared<serve::ServedModel>();
  model->engine = loaded.engine;
  // The session outlives the API.
  model->tokenizer = {std::shared_ptr<void>(), open.tokenizer.get()};
  model->name = options.served_name.empty() ? open.executor->model().name
                                            : options.served_name;
  model->fingerprint = Fingerprint(open);
  model->created = std::time(nullptr);
  model->sampling = generation.sampling;
  model->stop_ids = generation.stop_ids;
  model->grammars = grammar::AnswerGrammars::Create(*open.tokenizer);
  return model;
}

// The sizes of the tiers, which do not change while the model is there.
std::vector<serve::TierBytes> TiersOf(const Session& session) {
  uint64_t device = 0, host = 0, file = 0;
  for (const PagedExperts* experts : session.executor->paging()) {
    const ExpertBudget& budget = experts->budget();
    device += budget.SlotBytes();
    host += budget.PinnedBytes() + budget.mapped_rows * budget.row_bytes;
    file += budget.file_rows * budget.row_bytes;
  }
  if (device == 0) return {};
  return {{"device", device}, {"host", host}, {"file", file}};
}

class ServeCommand {
 public:
  explicit ServeCommand(const ServeOptions& options) : options_(options) {}

  absl::Status Run();

 private:
  // What is at fault is known before there is a port to ask at.
  absl::Status Start();
  void LoadModel();
  void Drain();
  void WriteLine(std::string line) { log_.Write(std::move(line)); }

  const ServeOptions options_;
  serve::LogWriter log_{STDERR_FILENO};
  Interrupts interrupts_;
  Loaded loaded_;
  MemoryShares memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool load_ended_ = false;
  absl::Status load_status_;
  std::vector<serve::TierBytes> tiers_;
  std::unique_ptr<serve::OpenAiApi> api_;
  std::unique_ptr<serve::HttpServer> server_;
};

absl::Status ServeCommand::Start() {
  serve::OpenAiApiOptions api;
  GLM_ASSIGN_OR_RETURN(api.api_keys, ApiKeys(options_));
  GLM_ASSIGN_OR_RETURN(loaded_.session, Session::Prepare(options_.session));
  GLM_ASSIGN_OR_RETURN(const ServePlan plan,
                       CheckServePlan(*loaded_.session, options_));
  memory_ = plan.memory;
  api.stall_limit = std::chrono::seconds(options_.stall_seconds);
  const auto format = options_.log_format == "json" ? serve::LogFormat::kJson
                                                    : serve::LogFormat::kText;
  api.log = [this, format](const serve::RequestLogEntry& entry) {
    WriteLine(serve::LogLine(entry, format, std::chrono::system_clock::now()));
  };
  api.tiers = [this] {
    const std::lock_guard lock(mutex_);
    return tiers_;
  };
  const bool open = api.api_keys.empty() && options_.host != "127.0.0.1" &&
                    options_.host != "::1";
  api_ = std::make_unique<serve::OpenAiApi>(std::move(api));
  serve::HttpServerOptions http;
  http.host = options_.host;
  http.port = options_.port;
  http.cors_origin = options_.cors_origin;
  http.max_body_bytes_together = options_.body_memory;
  api_->Configure(http);
  GLM_ASSIGN_OR_RETURN(server_, serve::HttpServer::Start(std::move(http)));
  WriteLine(absl::StrCat("listening at http://", options_.host, ":",
                         server_->port(), ", loading ",
                         options_.session.plan_path));
  for (const std::string& note : plan.notes) WriteLine(note);
  if (open) {
    WriteLine(
        "warning: whoever reaches this machine can use the model; see "
        "--api-key-file");
  }
  return absl::OkStatus();
}

void ServeCommand::LoadModel() {
  const auto begin = std::chrono::steady_clock::now();
  auto model = Load(options_, memory_, interrupts_, loaded_);
  if (model.ok()) {
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f", seconds.count());
    WriteLine(absl::StrCat("serving '", (*model)->name, "', ",
                           options_.parallel, " at a time, context ",
                           loaded_.engine->model().max_context, " tokens, ",
                           FormatBytes(memory_.cache),
                           " for states of prompts, loaded in ", text, " s"));
    {
      const std::lock_guard lock(mutex_);
      tiers_ = TiersOf(*loaded_.session);
    }
    api_->Serve(*std::move(model));
  } else if (!interrupts_.raised()) {
    // Clients that ask before the program has ended get to know why.
    api_->Fail(std::string(model.status().message()));
  }
  const std::lock_guard lock(mutex_);
  load_ended_ = true;
  load_status_ = model.status();
  changed_.notify_all();
}

// Answers have until the deadline, then are cut with an error.
void ServeCommand::Drain() {
  const auto limit = std::chrono::duration_cast<milliseconds>(
      std::chrono::duration<double>(options_.drain_seconds));
  const auto deadline = std::chrono::steady_clock::now() + limit;
  api_->Drain();
  bool loaded = false;
  {
    std::unique_lock lock(mutex_);
    loaded =
        changed_.wait_until(lock, deadline, [this] { return load_ended_; });
  }
  if (!loaded) {
    // Nothing was promised yet, and what is under way may take minutes.
    WriteLine("the load did not end in time; leaving");
    log_.Flush();
    std::_Exit(0);
  }
  if (loaded_.engine != nullptr) {
    const auto left = std::max(
        milliseconds(0), std::chrono::duration_cast<milliseconds>(
                             deadline - std::chrono::steady_clock::now()));
    loaded_.engine->Drain(absl::FromChrono(left));
  }
  server_->Stop(kFlush);
}

absl::Status ServeCommand::Run() {
  // A reader of the log that has left costs lines, not the server.
  signal(SIGPIPE, SIG_IGN);
  GLM_RETURN_IF_ERROR(Start());
  std::thread loader([this] { LoadModel(); });
  absl::Status status;
  while (!interrupts_.raised()) {
    std::unique_lock lock(mutex_);
    if (load_ended_ && !load_status_.ok()) {
      status = load_status_;
      break;
    }
    changed_.wait_for(lock, kSignalPoll);
  }
  if (status.ok()) WriteLine("draining; a second signal leaves at once");
  Drain();
  loader.join();
  // In this order: requests end at the API, the engine uses the session.
  loaded_.engine.reset();
  server_.reset();
  api_.reset();
  return status;
}

}  // namespace

void AddServe(CLI::App& app, Run& run) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command =
      app.add_subcommand("serve", "Serve the model through OpenAI's HTTP API");
  command->footer(
      "Answers at /v1/chat/completions, /v1/completions, /v1/models, "
      "/tokenize,\n"
      "/detokenize, /health, /ready and /metrics (docs/serving.md). SIGTERM "
      "and\n"
      "Ctrl-C let answers end for --drain-seconds and exit with 0; the second\n"
      "signal leaves at once.\n"
      "\n"
      "Examples:\n"
      "  glmrun serve model.glmplan\n"
      "  glmrun serve model.glmplan --host 0.0.0.0 --api-key-file keys.txt\n");
  AddServeOptions(*command, *options);
  command->callback([options, &run] {
    run = [options] { return ServeCommand(*options).Run(); };
  });
}

}  // namespace glm::tools
