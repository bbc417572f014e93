#include "runtime/device/host/host_collective.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

float Widen(uint16_t bf16) {
  return std::bit_cast<float>(uint32_t{bf16} << 16);
}

// To nearest even; NaN stays one.
uint16_t Narrow(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// What a rank brings to a meeting.
struct Offer {
  CollectiveOp op;
  CollectiveElement element;
  std::byte* from = nullptr;
  std::byte* to = nullptr;
  uint64_t count = 0;

  bool Matches(const Offer& other) const {
    return op == other.op && element == other.element && count == other.count;
  }
};

class HostGroup final : public CollectiveGroup {
 public:
  HostGroup(uint32_t ranks, HostGroupOptions options);

  std::string Describe() const override {
    return absl::StrCat(ranks(), " ranks of the host");
  }
  uint32_t ranks() const override {
    return static_cast<uint32_t>(offers_.size());
  }
  Collective& rank(uint32_t rank) override { return *ends_[rank]; }
  void Abort(const absl::Status& why) override;
  absl::Status Restart() override;

  // Runs one collective; returns when it is complete on all ranks.
  absl::Status Meet(uint32_t rank, const Offer& offer);

 private:
  // Waits until all ranks are here; `offer` is what this one brings.
  absl::Status Barrier(uint32_t rank, const Offer* offer = nullptr);
  // With the mutex held: the error of a group that has ended.
  void End(const absl::Status& why);
  std::string Missing() const;

  void Reduce(uint32_t rank) const;
  void Gather(uint32_t rank) const;

  const HostGroupOptions options_;
  std::vector<std::unique_ptr<Collective>> ends_;
  std::vector<Offer> offers_;
  std::mutex mutex_;
  std::condition_variable met_;
  std::vector<bool> here_;  // who waits at the barrier
  uint32_t arrived_ = 0;
  uint64_t barriers_ = 0;  // that all have passed
  absl::Status ended_;
};

// One collective, bound to its memory: what a host's queue runs in its turn.
class Meeting : public QueueWork {
 public:
  Meeting(HostGroup& group, uint32_t rank, const Offer& offer)
      : group_(group), rank_(rank), offer_(offer) {}
  absl::Status Run(void*) const override { return group_.Meet(rank_, offer_); }

 private:
  HostGroup& group_;
  uint32_t rank_;
  Offer offer_;
};

class HostEnd : public Collective {
 public:
  HostEnd(HostGroup& group, uint32_t rank) : group_(group), rank_(rank) {}

  uint32_t rank() const override { return rank_; }
  uint32_t ranks() const override { return group_.ranks(); }

  absl::Status Enqueue(Queue& queue, const CollectiveCall& call) override {
    GLM_RETURN_IF_ERROR(CheckCollective(call, ranks()));
    if (call.from->host_data() == nullptr || call.to->host_data() == nullptr) {
      return absl::InvalidArgumentError(
          "ranks of the host meet in memory that the host reaches");
    }
    return queue.Run(std::make_shared<Meeting>(
        group_, rank_,
        Offer{call.op, call.element, call.from->host_data() + call.from_offset,
              call.to->host_data() + call.to_offset, call.count}));
  }

 private:
  HostGroup& group_;
  uint32_t rank_;
};

HostGroup::HostGroup(uint32_t ranks, HostGroupOptions options)
    : options_(options), offers_(ranks), here_(ranks, false) {
  for (uint32_t r = 0; r < ranks; ++r) {
    ends_.push_back(std::make_unique<HostEnd>(*this, r));
  }
}

void HostGroup::End(const absl::Status& why) {
  if (ended_.ok()) ended_ = why;
  met_.notify_all();
}

void HostGroup::Abort(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  End(absl::AbortedError(
      absl::StrCat("ended with the other ranks: ", why.message())));
}

absl::Status HostGroup::Restart() {
  const std::lock_guard lock(mutex_);
  ended_ = absl::OkStatus();
  arrived_ = 0;
  barriers_ = 0;
  std::fill(here_.begin(), here_.end(), false);
  return absl::OkStatus();
}

std::string HostGroup::Missing() const {
  std::string text;
  for (uint32_t r = 0; r < here_.size(); ++r) {
    if (!here_[r]) absl::StrAppend(&text, text.empty() ? "" : ", ", r);
  }
  return text;
}

absl::Status HostGroup::Barrier(uint32_t rank, const Offer* offer) {
  std::unique_lock lock(mutex_);
  if (!ended_.ok()) return ended_;
  if (offer != nullptr) offers_[rank] = *offer;
  const uint64_t now = barriers_;
  here_[rank] = true;
  if (++arrived_ == here_.size()) {
    arrived_ = 0;
    std::fill(here_.begin(), here_.end(), false);
    ++barriers_;
    met_.notify_all();
    return absl::OkStatus();
  }
  const bool in_time = met_.wait_for(lock, options_.time_limit, [&] {
    return barriers_ != now || !ended_.ok();
  });
  if (barriers_ != now) return absl::OkStatus();
  if (!in_time) {
    // Two barriers a collective.
    End(absl::DeadlineExceededError(absl::StrCat(
        "rank ", Missing(), " did not come to collective ", now / 2, " within ",
        options_.time_limit.count(), " ms, rank ", rank, " waited for it")));
  }
  return ended_;
}

absl::Status HostGroup::Meet(uint32_t rank, const Offer& offer) {
  GLM_RETURN_IF_ERROR(Barrier(rank, &offer));
  for (uint32_t r = 0; r < ranks(); ++r) {
    if (offers_[r].Matches(offer)) continue;
    const std::lock_guard lock(mutex_);
    End(absl::InternalError(absl::StrCat(
        "ranks ", rank, " and ", r, " meet with different collectives: ",
        offer.count, " and ", offers_[r].count, " elements")));
    return ended_;
  }
  if (offer.op == CollectiveOp::kAllReduce) {
    Reduce(rank);
  } else {
    Gather(rank);
  }
  return Barrier(rank);
}

void HostGroup::Reduce(uint32_t rank) const {
  const uint64_t count = offers_[rank].count;
  const uint64_t begin = count * rank / ranks();
  const uint64_t end = count * (rank + 1) / ranks();
  const bool wide = offers_[rank].element == CollectiveElement::kF32;
  // Pieces that stay in a cache while all ranks' parts of them are added.
  constexpr uint64_t kPiece = 1024;
  float sum[kPiece];
  uint16_t narrow[kPiece];
  for (uint64_t at = begin; at < end; at += kPiece) {
    const uint64_t n = std::min(kPiece, end - at);
    for (uint32_t r = 0; r < ranks(); ++r) {
      const std::byte* from = offers_[r].from + at * (wide ? 4 : 2);
      if (wide) {
        const auto* x = reinterpret_cast<const float*>(from);
        for (uint64_t i = 0; i < n; ++i) sum[i] = r == 0 ? x[i] : sum[i] + x[i];
      } else {
        const auto* x = reinterpret_cast<const uint16_t*>(from);
        for (uint64_t i = 0; i < n; ++i) {
          sum[i] = r == 0 ? Widen(x[i]) : sum[i] + Widen(x[i]);
        }
      }
    }
    for (uint64_t i = 0; !wide && i < n; ++i) narrow[i] = Narrow(sum[i]);
    for (uint32_t r = 0; r < ranks(); ++r) {
      if (wide) {
        std::memcpy(offers_[r].to + at * 4, sum, n * 4);
      } else {
        std::memcpy(offers_[r].to + at * 2, narrow, n * 2);
      }
    }
  }
}

void HostGroup::Gather(uint32_t rank) const {
  const uint64_t bytes =
      offers_[rank].count * ElementBytes(offers_[rank].element);
  for (uint32_t r = 0; r < ranks(); ++r) {
    std::memcpy(offers_[r].to + rank * bytes, offers_[rank].from, bytes);
  }
}

}  // namespace

std::unique_ptr<CollectiveGroup> CreateHostGroup(uint32_t ranks,
                                                 HostGroupOptions options) {
  return std::make_unique<HostGroup>(ranks, options);
}

}  // namespace glm
