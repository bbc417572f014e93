#include "runtime/paging/row_server.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/start_thread.h"
#include "runtime/base/status_macros.h"

namespace glm::paging {
namespace {

using Clock = std::chrono::steady_clock;

// Looks before the first nap: requests of a layer follow each other closely.
constexpr int kLooks = 64;

uint32_t Load(uint32_t& word) {
  return std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire);
}

void Store(uint32_t& word, uint32_t value) {
  std::atomic_ref<uint32_t>(word).store(value, std::memory_order_release);
}

}  // namespace

RowServer::RowServer(const RowServerOptions& options, ReadRow read)
    : options_(options), read_(std::move(read)) {
  assert(options_.ring > 0);
  Restart();
}

absl::StatusOr<std::unique_ptr<RowServer>> RowServer::Create(
    const RowServerOptions& options, ReadRow read) {
  std::unique_ptr<RowServer> server(new RowServer(options, std::move(read)));
  GLM_ASSIGN_OR_RETURN(server->thread_,
                       StartThread("reading rows of experts from files",
                                   [self = server.get()] { self->Run(); }));
  return server;
}

RowServer::~RowServer() {
  {
    std::lock_guard lock(wake_mutex_);
    stop_.store(true);
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void RowServer::StepBegins() {
  {
    std::lock_guard lock(wake_mutex_);
    running_.fetch_add(1);
  }
  wake_.notify_one();
}

void RowServer::StepEnds() { running_.fetch_sub(1); }

void RowServer::Restart() {
  std::lock_guard lock(bell_mutex_);
  next_ = 0;
  status_ = absl::OkStatus();
  Store(options_.bell->requested, 0);
  Store(options_.bell->served, 0);
  Store(options_.bell->taken, 0);
  options_.bell->staging = options_.staging_address;
  options_.bell->ring = options_.ring;
}

absl::Status RowServer::TakeStatus() {
  std::lock_guard lock(bell_mutex_);
  return std::exchange(status_, absl::OkStatus());
}

void RowServer::Run() {
  int looks = 0;
  while (!stop_.load()) {
    if (running_.load() == 0) {
      std::unique_lock lock(wake_mutex_);
      wake_.wait(lock, [this] { return stop_.load() || running_.load() > 0; });
      looks = 0;
    }
    if (ServeNext()) {
      looks = 0;
    } else if (++looks < kLooks) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

bool RowServer::ServeNext() {
  std::lock_guard lock(bell_mutex_);
  Doorbell& bell = *options_.bell;
  if (Load(bell.requested) == next_) return false;
  if (next_ - Load(bell.taken) >= options_.ring) return false;
  const uint32_t at = next_ % options_.ring;
  auto* rows = reinterpret_cast<const uint32_t*>(
      reinterpret_cast<const std::byte*>(&bell) + kBellRows);
  const uint32_t row = rows[at];
  const std::span<std::byte> to = {options_.staging + at * options_.row_bytes,
                                   options_.row_bytes};
  const auto begin = Clock::now();
  absl::Status read =
      row < options_.rows
          ? read_(row, to)
          : absl::DataLossError(absl::StrCat(
                "a kernel asked for row ", row, " of ", options_.rows,
                "; the plan is damaged; compile it again"));
  if (!read.ok()) {
    std::memset(to.data(), 0, to.size());
    status_.Update(std::move(read));
  }
  ns_read_.fetch_add(std::chrono::nanoseconds(Clock::now() - begin).count(),
                     std::memory_order_relaxed);
  rows_read_.fetch_add(1, std::memory_order_relaxed);
  Store(bell.served, ++next_);
  return true;
}

}  // namespace glm::paging
