// What every subcommand that runs a model opens first: plan, device, executor,
// tokenizer.
#ifndef GLM_TOOLS_GLMRUN_SESSION_H_
#define GLM_TOOLS_GLMRUN_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"
#include "runtime/executor/synthetic_weights.h"
#include "runtime/sequence/generator.h"
#include "runtime/text/tokenizer.h"
#include "tools/device/open_runner.h"
#include "tools/glmrun/terminal.h"

namespace CLI {
class App;
}

namespace glm::tools {

struct SessionOptions {
  std::string plan_path;
  std::vector<std::string> weights_dirs;
  uint64_t memory_limit = 0;
  DeviceChoice device;
  RankChoice simulate;
  std::optional<SyntheticWeights> synthetic;
  ExpertOptions experts;
  uint32_t slots = 1;  // sequences at the same time
  bool no_weight_check = false;
  bool no_graphs = false;
  bool verbose = false;
};

void AddSessionOptions(CLI::App& command, SessionOptions& options);

struct SamplingOptions {
  bool greedy = false;
  float temperature = -1;  // -1: the plan's
  float top_p = -1;        // -1: the plan's
  uint32_t top_k = 0;
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  bool on_host = false;
  int64_t seed = -1;  // -1: a new one
  uint32_t max_tokens = 0;
  bool ignore_eos = false;
};

void AddSamplingOptions(CLI::App& command, SamplingOptions& options);

struct Session {
  std::shared_ptr<const PlanFile> plan;
  RankDevices devices;
  std::unique_ptr<ObservableRunner> executor;  // null until Load
  std::unique_ptr<text::Tokenizer> tokenizer;  // null: the plan holds none

  // Prepare and Load.
  static absl::StatusOr<std::unique_ptr<Session>> Open(
      const SessionOptions& options, const Interrupts& interrupts);

  // All but the executor: what is at fault in plan, tokenizer or devices is
  // known within seconds.
  static absl::StatusOr<std::unique_ptr<Session>> Prepare(
      const SessionOptions& options);

  // The executor, with its weights: minutes. Once.
  // Errors: kCancelled when `interrupts` was raised meanwhile.
  absl::Status Load(const SessionOptions& options,
                    const Interrupts& interrupts);

  // Errors: kFailedPrecondition without a tokenizer, with the way around.
  absl::Status NeedTokenizer() const;

  // The plan's defaults with the command line's changes; the seed is chosen
  // here, so that it can be shown.
  GenerateOptions Generation(const SamplingOptions& options) const;
};

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_SESSION_H_
