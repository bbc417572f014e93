#include "tools/glm-cachesim/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace glm::cachesim {
namespace {

void PrintLayers(const Report& report) {
  std::printf("\nhit %% by layer\n%5s", "");
  for (const Outcome& o : report.outcomes)
    std::printf("%13s", o.policy.c_str());
  std::printf("\n%5s", "slots");
  for (const Outcome& o : report.outcomes) std::printf("%13u", o.slots);
  std::printf("\n");
  for (uint32_t layer = 0; layer < report.shape.layers; ++layer) {
    std::printf("%5u", layer);
    for (const Outcome& o : report.outcomes) {
      std::printf("%13.1f", 100 * o.result.layers[layer].HitRate());
    }
    std::printf("\n");
  }
}

}  // namespace

void PrintTable(const Options& options, const Report& report) {
  const paging::TraceShape& shape = report.shape;
  const paging::SimulationResult& first = report.outcomes.front().result;
  std::printf(
      "%u layers of %u experts, top %u: %u rows. %llu steps counted, %llu "
      "tokens, after "
      "%llu of warm-up.\n",
      shape.layers, shape.experts, shape.top_k, shape.rows(),
      static_cast<unsigned long long>(first.steps),
      static_cast<unsigned long long>(first.tokens),
      static_cast<unsigned long long>(options.warmup));
  std::printf(
      "The most used 16, 32, 64, 128 of a layer: %.0f, %.0f, %.0f, %.0f %% of "
      "all "
      "uses.\n\n",
      100 * report.pinned_coverage[0], 100 * report.pinned_coverage[1],
      100 * report.pinned_coverage[2], 100 * report.pinned_coverage[3]);
  std::printf("%-12s%8s%9s%13s%17s%14s%10s\n", "policy", "slots", "hit %",
              "GB a token", "stall ms a token", "worst step ms", "tok/s");
  for (const Outcome& o : report.outcomes) {
    const paging::SimulationResult& r = o.result;
    const double rate = r.TokensPerSecond(options.compute_ms);
    std::printf("%-12s%8u%9.1f%13.3f%17.2f%14.2f", o.policy.c_str(), o.slots,
                100 * r.all.HitRate(), r.GbPerToken(), r.StallMsPerToken(),
                r.worst_step_ms);
    // Without any stall or other work there is no bound.
    if (std::isfinite(rate)) {
      std::printf("%10.1f\n", rate);
    } else {
      std::printf("%10s\n", "-");
    }
  }
  if (options.per_layer) PrintLayers(report);
}

void PrintJson(const Options& options, const Report& report) {
  nlohmann::ordered_json root;
  root["layers"] = report.shape.layers;
  root["experts"] = report.shape.experts;
  root["top_k"] = report.shape.top_k;
  root["warmup_steps"] = options.warmup;
  root["row_bytes"] = options.link.row_bytes;
  root["link_gb_s"] = options.link.gb_per_s;
  root["overlap_us"] = options.link.overlap_us;
  root["compute_ms"] = options.compute_ms;
  root["top_16_32_64_128"] = report.pinned_coverage;
  for (const Outcome& o : report.outcomes) {
    const paging::SimulationResult& r = o.result;
    nlohmann::ordered_json entry = {{"policy", o.policy},
                                    {"slots", o.slots},
                                    {"steps", r.steps},
                                    {"tokens", r.tokens},
                                    {"hits", r.all.hits},
                                    {"misses", r.all.misses},
                                    {"hit_rate", r.all.HitRate()},
                                    {"gb_per_token", r.GbPerToken()},
                                    {"stall_ms_per_token", r.StallMsPerToken()},
                                    {"worst_step_ms", r.worst_step_ms}};
    const double rate = r.TokensPerSecond(options.compute_ms);
    if (std::isfinite(rate)) entry["tokens_per_second"] = rate;
    for (const paging::LayerTotals& layer : r.layers) {
      entry["layer_hit_rates"].push_back(layer.HitRate());
    }
    root["results"].push_back(std::move(entry));
  }
  std::printf("%s\n", root.dump(1).c_str());
}

}  // namespace glm::cachesim
