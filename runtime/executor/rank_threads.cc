#include "runtime/executor/rank_threads.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/start_thread.h"
#include "runtime/base/status_macros.h"

namespace glm {

namespace {

// How long ranks may go on after another has failed.
constexpr std::chrono::milliseconds kGrace{200};

}  // namespace

absl::StatusOr<std::unique_ptr<RankThreads>> RankThreads::Create(
    CollectiveGroup& group) {
  std::unique_ptr<RankThreads> threads(new RankThreads(group));
  for (uint32_t r = 0; r < group.ranks(); ++r) {
    GLM_ASSIGN_OR_RETURN(
        std::thread thread,
        StartThread(absl::StrCat("rank ", r),
                    [self = threads.get(), r] { self->Loop(r); }));
    threads->threads_.push_back(std::move(thread));
  }
  return threads;
}

RankThreads::~RankThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status RankThreads::All(
    absl::FunctionRef<absl::Status(uint32_t rank)> work,
    std::chrono::milliseconds limit) {
  if (broken_) {
    GLM_RETURN_IF_ERROR(group_.Restart());
    broken_ = false;
  }
  std::unique_lock lock(mutex_);
  work_ = &work;
  running_ = static_cast<uint32_t>(threads_.size());
  busy_.assign(threads_.size(), true);
  failure_ = absl::OkStatus();
  succeeded_ = 0;
  ++round_;
  wake_.notify_all();
  const auto over = [this] { return running_ == 0 || !failure_.ok(); };
  const auto all_done = [this] { return running_ == 0; };
  if (limit.count() == 0) {
    done_.wait(lock, over);
  } else if (!done_.wait_for(lock, limit, over)) {
    std::string late;
    for (uint32_t r = 0; r < busy_.size(); ++r) {
      if (busy_[r]) absl::StrAppend(&late, late.empty() ? "" : ", ", r);
    }
    failure_ = absl::DeadlineExceededError(
        absl::StrCat("rank ", late, ": the step did not end within ",
                     limit.count(), " ms; ", group_.Describe()));
  }
  // Where some failed and some did not, the work that those have enqueued waits
  // on their devices for what never comes.
  if (!done_.wait_for(lock, kGrace, all_done) ||
      (!failure_.ok() && succeeded_ > 0)) {
    const absl::Status why = failure_;
    lock.unlock();
    group_.Abort(why);
    lock.lock();
    done_.wait(lock, all_done);
  }
  work_ = nullptr;
  broken_ = !failure_.ok();
  return failure_;
}

void RankThreads::Loop(uint32_t rank) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const auto& work = *work_;
    lock.unlock();
    const absl::Status status = work(rank);
    lock.lock();
    succeeded_ += status.ok();
    if (!status.ok() && failure_.ok()) {
      failure_ = absl::Status(
          status.code(), absl::StrCat("rank ", rank, ": ", status.message()));
    }
    busy_[rank] = false;
    --running_;
    if (running_ == 0 || !status.ok()) done_.notify_all();
  }
}

}  // namespace glm
