#include "tools/glm-check/replay.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/element_bytes.h"
#include "runtime/plan/plan_generated.h"
#include "tools/glm-check/elements.h"

namespace glm::check {
namespace {

// One sequence in slot 0, step after step.
class Sequence {
 public:
  Sequence(ObservableRunner& executor, uint32_t prefill, uint32_t decode)
      : executor_(executor), prefill_(prefill), decode_(decode) {}

  // Runs `ids`, at most the entry's tokens, and appends the rows of positions
  // >= `keep_from` to `taps` and `logits`.
  absl::Status Run(uint32_t entry, std::span<const int32_t> ids,
                   int64_t keep_from,
                   std::map<std::string, std::vector<Row>>& taps,
                   std::vector<Row>& logits) {
    const EntryInfo& info = executor_.entries()[entry];
    std::vector<int32_t> padded(ids.begin(), ids.end());
    padded.resize(info.tokens, 0);
    const int64_t length = ids.size();
    const int64_t first = std::max<int64_t>(keep_from - position_, 0);
    std::vector<int32_t> rows(info.logit_rows, -1);
    for (int64_t r = first; r < length; ++r) rows[r - first] = r;
    const SequenceStep step = {0, static_cast<uint32_t>(position_),
                               static_cast<uint32_t>(length)};
    const StepInputs inputs = {padded, {&step, 1}, rows};
    const auto* table =
        executor_.plan_file().plan().entries()->Get(entry);
    auto observe = [&](const OperationRange& done) -> absl::Status {
      if (table->taps() == nullptr) return absl::OkStatus();
      for (const plan::Tap* tap : *table->taps()) {
        if (tap->after() - done.first >= done.count) continue;
        GLM_RETURN_IF_ERROR(
            KeepTap(entry, *table, *tap, first, length, taps));
      }
      return absl::OkStatus();
    };
    GLM_RETURN_IF_ERROR(executor_.StepObserved(entry, inputs, observe));
    for (int64_t r = first; r < length; ++r) {
      const std::span<const float> row = executor_.logits(r - first);
      logits.emplace_back(row.begin(), row.end());
    }
    position_ += length;
    return absl::OkStatus();
  }

  // The prompt in chunks; shorter ones where the kept positions would ask a
  // step for more logits rows than it has.
  absl::Status Prefill(const std::vector<int32_t>& prompt, int64_t positions,
                       Replay& replay) {
    const EntryInfo& info = executor_.entries()[prefill_];
    const int64_t total = prompt.size();
    const int64_t keep_from = std::max<int64_t>(total - positions, 0);
    while (position_ < total) {
      int64_t length = std::min<int64_t>(info.tokens, total - position_);
      const int64_t kept = position_ + length - std::max(keep_from, position_);
      if (kept > info.logit_rows) {
        length = keep_from > position_
                     ? std::min<int64_t>(length, keep_from - position_)
                     : info.logit_rows;
      }
      GLM_RETURN_IF_ERROR(
          Run(prefill_, std::span(prompt).subspan(position_, length), keep_from,
              replay.prefill, replay.prefill_logits));
    }
    return absl::OkStatus();
  }

  absl::Status Decode(const std::vector<int32_t>& fed, Replay& replay) {
    std::map<std::string, std::vector<Row>> later;
    for (size_t i = 0; i < fed.size(); ++i) {
      GLM_RETURN_IF_ERROR(Run(decode_, std::span(fed).subspan(i, 1), 0,
                              i == 0 ? replay.decode0 : later,
                              replay.step_logits));
      later.clear();
    }
    return absl::OkStatus();
  }

 private:
  absl::Status KeepTap(uint32_t entry, const plan::Entry& table,
                       const plan::Tap& tap, int64_t first, int64_t length,
                       std::map<std::string, std::vector<Row>>& taps) {
    const plan::Buffer* buffer = table.buffers()->Get(tap.buffer());
    std::vector<std::byte> bytes;
    GLM_RETURN_IF_ERROR(executor_.ReadBuffer(entry, tap.buffer(), bytes));
    const uint64_t size = ElementBytes(buffer->dtype());
    uint64_t width = 1;
    for (uint32_t d = 1; d < buffer->shape()->size(); ++d) {
      width *= buffer->shape()->Get(d);
    }
    std::vector<Row>& rows = taps[tap.name()->str()];
    for (int64_t r = first; r < length; ++r) {
      Row& row = rows.emplace_back(width);
      for (uint64_t i = 0; i < width; ++i) {
        row[i] = Element(bytes.data() + (r * width + i) * size, buffer->dtype());
      }
    }
    return absl::OkStatus();
  }

  ObservableRunner& executor_;
  uint32_t prefill_;
  uint32_t decode_;
  int64_t position_ = 0;
};

std::optional<uint32_t> FindEntry(const ObservableRunner& executor,
                                  bool prefill) {
  const std::vector<EntryInfo>& entries = executor.entries();
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].prefill == prefill && entries[i].sequences == 1 &&
        (prefill || entries[i].tokens == 1)) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Replay> RunTokens(ObservableRunner& executor,
                                 const std::vector<int32_t>& prompt,
                                 const std::vector<int32_t>& fed,
                                 int64_t positions) {
  const uint64_t total = prompt.size() + fed.size();
  if (total > executor.model().max_context) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the case has ", total, " tokens, the plan holds ",
        executor.model().max_context,
        "; compile it with a larger --max-context"));
  }
  const auto prefill = FindEntry(executor, true);
  const auto decode = FindEntry(executor, false);
  if (!prefill || !decode) {
    return absl::FailedPreconditionError(
        "the plan has no prefill entry or no decode entry for one sequence");
  }
  Replay replay;
  Sequence sequence(executor, *prefill, *decode);
  GLM_RETURN_IF_ERROR(sequence.Prefill(prompt, positions, replay));
  replay.step_logits = {replay.prefill_logits.back()};
  GLM_RETURN_IF_ERROR(sequence.Decode(fed, replay));
  return replay;
}

}  // namespace glm::check
