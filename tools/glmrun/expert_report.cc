#include "tools/glmrun/expert_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/memory_plan.h"

namespace glm::tools {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  std::array<char, 256> line;
  std::snprintf(line.data(), line.size(), format, args...);
  return line.data();
}

double HitRateOf(const ExpertCounts& counts) {
  return counts.accesses == 0 ? 0
                              : 1 - static_cast<double>(counts.misses) /
                                        static_cast<double>(counts.accesses);
}

}  // namespace

nlohmann::ordered_json CountsJson(const ExpertCounts& counts,
                                  uint64_t row_bytes) {
  return {{"accesses", counts.accesses},
          {"hits", counts.accesses - counts.misses},
          {"misses", counts.misses},
          {"from_files", counts.asked},
          {"bytes_slots", (counts.accesses - counts.misses) * row_bytes},
          {"bytes_pinned", counts.bytes_pinned},
          {"bytes_file", counts.bytes_file}};
}

std::vector<ExpertCounts> CountsSince(const std::vector<ExpertCounts>& before,
                                      const std::vector<ExpertCounts>& after) {
  std::vector<ExpertCounts> counts = after;
  for (size_t i = 0; i < std::min(before.size(), counts.size()); ++i) {
    counts[i].steps -= before[i].steps;
    counts[i].accesses -= before[i].accesses;
    counts[i].misses -= before[i].misses;
    counts[i].asked -= before[i].asked;
    counts[i].bytes_pinned -= before[i].bytes_pinned;
    counts[i].bytes_file -= before[i].bytes_file;
  }
  return counts;
}

ExpertCounts SumOf(const std::vector<ExpertCounts>& layers) {
  ExpertCounts total;
  if (!layers.empty()) total.steps = layers[0].steps;
  for (const ExpertCounts& layer : layers) {
    total.accesses += layer.accesses;
    total.misses += layer.misses;
    total.asked += layer.asked;
    total.bytes_pinned += layer.bytes_pinned;
    total.bytes_file += layer.bytes_file;
  }
  return total;
}

ExpertCounts ExpertReport::Total() const { return SumOf(layers); }

double ExpertReport::HitRate() const { return HitRateOf(Total()); }

double ExpertReport::LinkSeconds() const {
  if (link_bytes_per_second <= 0 || steps() == 0) return 0;
  return static_cast<double>(Total().bytes()) / link_bytes_per_second /
         static_cast<double>(steps());
}

double ExpertReport::StallSeconds() const {
  double sum = timings.empty() ? -1 : 0;
  for (const LayerTiming& timing : timings) {
    if (timing.stall_seconds < 0) return -1;
    sum += timing.stall_seconds;
  }
  return sum;
}

bool ExpertReport::BeyondLink(size_t layer) const {
  return layer < timings.size() && link_bytes_per_second > 0 &&
         timings[layer].BytesPerSecond() > link_bytes_per_second;
}

std::string ExpertReport::TableText() const {
  const double count = static_cast<double>(std::max<uint64_t>(1, steps()));
  const auto mib = [count](uint64_t bytes) {
    return static_cast<double>(bytes) / count / 1048576;
  };
  std::string text =
      "\n  layer      hits    misses  of files   hit rate  MiB a step  "
      "of files";
  if (!timings.empty()) text += "    copy us   stall us      GB/s";
  text += "\n";
  bool beyond = false;
  for (size_t i = 0; i < layers.size(); ++i) {
    const ExpertCounts& c = layers[i];
    text += Format("  %5zu %9llu %9llu %9llu %10.3f %11.2f %9.2f", i,
                   static_cast<unsigned long long>(c.accesses - c.misses),
                   static_cast<unsigned long long>(c.misses),
                   static_cast<unsigned long long>(c.asked), HitRateOf(c),
                   mib(c.bytes()), mib(c.bytes_file));
    if (i < timings.size()) {
      const LayerTiming& t = timings[i];
      text += Format(" %10.1f", 1e6 * t.seconds);
      text += t.stall_seconds < 0 ? "          ?"
                                  : Format(" %10.1f", 1e6 * t.stall_seconds);
      text += Format(" %9.2f%s", 1e-9 * t.BytesPerSecond(),
                     BeyondLink(i) ? " *" : "");
      beyond |= BeyondLink(i);
    }
    text += "\n";
  }
  if (!timings.empty()) {
    text += Format(
        "copy us: the launch that copies, in %u steps run launch by launch; "
        "stall us: what\n  misses add to it; GB/s: their bytes in all of its "
        "time\n",
        timed_steps);
  }
  if (beyond) {
    text += Format(
        "* faster than the link, %.2f GB/s here, which no copy over it can be: "
        "from a cache,\n  or bytes that are counted and nobody copied\n",
        1e-9 * link_bytes_per_second);
  }
  return text;
}

std::string ExpertReport::ToText() const {
  const ExpertCounts total = Total();
  const double count = static_cast<double>(std::max<uint64_t>(1, steps()));
  std::string text = Format("experts    %10.3f hits      ", HitRate());
  if (simulated_hit_rate >= 0) {
    text += Format("%.3f in the simulator, ", simulated_hit_rate);
  }
  text += Format("%.1f of %.1f rows a step missed, %s over the link\n",
                 static_cast<double>(total.misses) / count,
                 static_cast<double>(total.accesses) / count,
                 FormatBytes(static_cast<uint64_t>(
                                 static_cast<double>(total.bytes()) / count))
                     .c_str());
  text += Format("           %10u slots     of %u rows, policy %s\n",
                 budget.slots, budget.rows, budget.policy.c_str());
  if (link_bytes_per_second > 0) {
    const double step = seconds / count;
    text += Format(
        "link       %10.0f us     a step at least, %.1f %% of it, at the "
        "%.2f GB/s that copies to the device reach\n",
        1e6 * LinkSeconds(), step > 0 ? 100 * LinkSeconds() / step : 0.0,
        1e-9 * link_bytes_per_second);
  }
  if (const double stall = StallSeconds(); stall >= 0) {
    text += Format(
        "stall      %10.0f us     a step, by which misses lengthen the "
        "launches "
        "that copy\n",
        1e6 * stall);
  }
  if (rows_read > 0) {
    text +=
        Format("files      %10llu rows      read in %.3f s, %.2f GB/s\n",
               static_cast<unsigned long long>(rows_read), seconds_read,
               seconds_read > 0
                   ? 1e-9 * static_cast<double>(rows_read) *
                         static_cast<double>(budget.row_bytes) / seconds_read
                   : 0.0);
  }
  if (rows_checked) {
    text += "rows       every slot holds what its weights are\n";
  }
  return text + TableText();
}

nlohmann::ordered_json ExpertReport::ToJson() const {
  const ExpertCounts total = Total();
  nlohmann::ordered_json json = CountsJson(total, budget.row_bytes);
  json["steps"] = steps();
  json["hit_rate"] = HitRate();
  if (simulated_hit_rate >= 0) json["simulated_hit_rate"] = simulated_hit_rate;
  json["policy"] = budget.policy;
  json["slots"] = budget.slots;
  json["rows"] = budget.rows;
  json["row_bytes"] = budget.row_bytes;
  json["rows_mapped"] = budget.mapped_rows;
  json["rows_pinned"] = budget.pinned_rows;
  json["rows_in_files"] = budget.file_rows;
  if (steps() > 0) json["bytes_per_step"] = total.bytes() / steps();
  if (link_bytes_per_second > 0) {
    const double step =
        seconds / static_cast<double>(std::max<uint64_t>(1, steps()));
    json["link"] = {{"bytes_per_second", link_bytes_per_second},
                    {"us_per_step", 1e6 * LinkSeconds()},
                    {"fraction", step > 0 ? LinkSeconds() / step : 0.0}};
  }
  if (timed_steps > 0) json["timed_steps"] = timed_steps;
  if (const double stall = StallSeconds(); stall >= 0) {
    json["stall_us_per_step"] = 1e6 * stall;
  }
  if (rows_read > 0) {
    json["files"] = {{"rows", rows_read}, {"seconds", seconds_read}};
  }
  if (rows_checked) json["rows_checked"] = true;
  json["layers"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < layers.size(); ++i) {
    nlohmann::ordered_json layer = CountsJson(layers[i], budget.row_bytes);
    if (i < timings.size()) {
      const LayerTiming& t = timings[i];
      layer["timed_bytes"] = t.bytes;
      layer["copy_us"] = 1e6 * t.seconds;
      if (t.stall_seconds >= 0) layer["stall_us"] = 1e6 * t.stall_seconds;
      layer["bytes_per_second"] = t.BytesPerSecond();
      layer["beyond_link"] = BeyondLink(i);
    }
    json["layers"].push_back(std::move(layer));
  }
  return json;
}

absl::StatusOr<std::string> ExpertSummary(PagedExperts& paging) {
  GLM_ASSIGN_OR_RETURN(const auto counts, paging.Counts());
  uint64_t accesses = 0, misses = 0, bytes = 0;
  for (const ExpertCounts& c : counts) {
    accesses += c.accesses;
    misses += c.misses;
    bytes += c.bytes();
  }
  return absl::StrCat(
      Format("experts: %.3f", accesses == 0
                                  ? 0.0
                                  : static_cast<double>(accesses - misses) /
                                        static_cast<double>(accesses)),
      " of ", accesses, " accesses were in a slot, ", FormatBytes(bytes),
      " came over the link",
      paging.rows_read() == 0
          ? ""
          : absl::StrCat(", ", paging.rows_read(), " rows from files"));
}

}  // namespace glm::tools
