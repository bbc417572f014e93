#include "runtime/serve/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glm::serve {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

const char* OutcomeName(RequestReport::Outcome outcome) {
  switch (outcome) {
    case RequestReport::Outcome::kFinished:
      return "finished";
    case RequestReport::Outcome::kRefused:
      return "refused";
    case RequestReport::Outcome::kAborted:
      return "aborted";
    case RequestReport::Outcome::kFailed:
      return "failed";
  }
  return "";
}

void Add(std::vector<MetricFamily>& families, const char* name,
         const char* help, MetricType type, double value,
         std::vector<prometheus::ClientMetric::Label> labels = {}) {
  if (families.empty() || families.back().name != name) {
    families.push_back({name, help, type, {}});
  }
  prometheus::ClientMetric& metric = families.back().metric.emplace_back();
  metric.label = std::move(labels);
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void AddExperts(const ExpertTraffic& experts, std::vector<MetricFamily>& out) {
  const auto counter =
      [&](const char* name, const char* help, uint64_t value,
          std::vector<prometheus::ClientMetric::Label> labels = {}) {
        Add(out, name, help, MetricType::Counter, static_cast<double>(value),
            std::move(labels));
      };
  counter("glm_expert_hits_total", "Experts that steps chose and a slot held.",
          experts.hits);
  counter("glm_expert_misses_total", "Those that no slot held.",
          experts.misses);
  counter("glm_expert_file_rows_total", "Of the misses, read from files.",
          experts.file_rows);
  constexpr char kMoved[] = "glm_expert_moved_bytes_total";
  constexpr char kHelp[] = "Copied to slots, by the tier that held it.";
  counter(kMoved, kHelp, experts.host_bytes, {{"tier", "host"}});
  counter(kMoved, kHelp, experts.file_bytes, {{"tier", "file"}});
}

void AddEngine(const EngineStats& stats, std::vector<MetricFamily>& out) {
  const auto gauge = [&](const char* name, const char* help, double value) {
    Add(out, name, help, MetricType::Gauge, value);
  };
  const auto counter = [&](const char* name, const char* help, double value) {
    Add(out, name, help, MetricType::Counter, value);
  };
  gauge("glm_requests_running", "Sequences that have a slot.", stats.active);
  gauge("glm_requests_waiting", "Sequences that wait for a slot.",
        stats.queued);
  gauge("glm_slots", "Sequences that can run at a time.", stats.slots);
  gauge("glm_queue_limit", "Sequences that may wait.", stats.queue_limit);
  counter("glm_sequences_total", "Sequences that the engine took.",
          static_cast<double>(stats.requests));
  counter("glm_sequences_cancelled_total", "Of them, cancelled.",
          static_cast<double>(stats.cancelled));
  counter("glm_prompt_tokens_total", "Tokens of prompts.",
          static_cast<double>(stats.prompt_tokens));
  counter("glm_prompt_tokens_cached_total",
          "Of them, those whose state was kept from before.",
          static_cast<double>(stats.cached_tokens));
  counter("glm_generated_tokens_total", "Tokens that were generated.",
          static_cast<double>(stats.generated_tokens));
  counter("glm_decode_steps_total", "Decode steps.",
          static_cast<double>(stats.decode_steps));
  counter("glm_prefill_steps_total", "Prefill steps.",
          static_cast<double>(stats.prefill_steps));
  gauge("glm_prefix_cache_hit_ratio", "Cached tokens of prompts to all.",
        stats.prompt_tokens == 0
            ? 0
            : static_cast<double>(stats.cached_tokens) /
                  static_cast<double>(stats.prompt_tokens));
  gauge("glm_prefix_cache_bytes", "States of prompts that are kept.",
        static_cast<double>(stats.cache_bytes));
  gauge("glm_prefix_cache_limit_bytes", "What they may take.",
        static_cast<double>(stats.cache_limit));
  gauge("glm_prefix_cache_entries", "How many are kept.",
        static_cast<double>(stats.cache_entries));
  const auto now = EngineStats::Clock::now();
  const auto seconds =
      [now](const std::optional<EngineStats::Clock::time_point>& then) {
        const std::chrono::duration<double> past = now - then.value_or(now);
        return std::max(0.0, past.count());
      };
  gauge("glm_step_in_flight_seconds",
        "For how long the device has been at a step; 0: at none.",
        seconds(stats.in_flight_since));
  if (stats.last_step) {
    gauge("glm_last_step_age_seconds", "Since a step ended.",
          seconds(stats.last_step));
  }
  if (stats.experts) AddExperts(*stats.experts, out);
}

}  // namespace

struct Metrics::Families {
  using Buckets = prometheus::Histogram::BucketBoundaries;

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter()
          .Name("glm_requests_total")
          .Help("Requests that came to the engine, by route and outcome.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& errors =
      prometheus::BuildCounter()
          .Name("glm_http_errors_total")
          .Help("Answers with a status of 400 and above, by status and code.")
          .Register(registry);
  prometheus::Histogram& whole =
      Of("glm_request_seconds", "From a request's arrival to its answer's end.",
         {0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800});
  prometheus::Histogram& queue =
      Of("glm_queue_seconds", "Until a sequence had a slot.",
         {0.001, 0.01, 0.1, 0.3, 1, 3, 10, 30, 60, 300});
  prometheus::Histogram& first =
      Of("glm_time_to_first_token_seconds", "Waiting and reading the prompt.",
         {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600});
  prometheus::Histogram& token =
      Of("glm_time_per_token_seconds",
         "Between tokens, the mean of each sequence.",
         {0.001, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3, 1});

 private:
  prometheus::Histogram& Of(const char* name, const char* help,
                            Buckets buckets) {
    return prometheus::BuildHistogram()
        .Name(name)
        .Help(help)
        .Register(registry)
        .Add({}, std::move(buckets));
  }
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::AddRequest(std::string_view route, const RequestReport& report,
                         std::chrono::duration<double> seconds) {
  families_->requests
      .Add({{"route", std::string(route)},
            {"outcome", OutcomeName(report.outcome)}})
      .Increment();
  if (report.outcome != RequestReport::Outcome::kFinished) return;
  families_->whole.Observe(seconds.count());
  for (const RequestResult& result : report.results) {
    families_->queue.Observe(result.queue_seconds);
    families_->first.Observe(result.queue_seconds + result.prefill_seconds);
    if (result.generated_tokens > 1) {
      families_->token.Observe(result.decode_seconds /
                               (result.generated_tokens - 1));
    }
  }
}

void Metrics::AddError(int http_status, std::string_view code) {
  families_->errors
      .Add({{"status", absl::StrCat(http_status)}, {"code", std::string(code)}})
      .Increment();
}

std::string Metrics::Text(const std::string& phase,
                          const std::optional<EngineStats>& stats,
                          const std::vector<TierBytes>& tiers) const {
  std::vector<MetricFamily> families = families_->registry.Collect();
  for (const char* each : {"loading", "serving", "draining", "failed"}) {
    Add(families, "glm_server_phase", "1 for the phase that the server is in.",
        MetricType::Gauge, phase == each ? 1 : 0, {{"phase", each}});
  }
  if (stats) AddEngine(*stats, families);
  for (const TierBytes& tier : tiers) {
    Add(families, "glm_expert_bytes", "Experts that a tier holds.",
        MetricType::Gauge, static_cast<double>(tier.held),
        {{"tier", tier.tier}});
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace glm::serve
