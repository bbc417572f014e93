// How far glmc has come.

#include "tools/glmc/ProgressLine.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace glm::glmc;

/// Between two lines of a log.
static constexpr std::chrono::seconds kLogInterval{10};
/// Between two drawings of the line of a terminal.
static constexpr std::chrono::milliseconds kDrawInterval{50};

ProgressLine::ProgressLine() : terminal(isatty(STDERR_FILENO)) {}

void ProgressLine::show(llvm::StringRef name, uint64_t done, uint64_t total) {
  const bool fresh = name != stage;
  if (fresh) {
    stage = name.str();
    begun = logged = Clock::now();
    firstDone = done;
  }
  const bool due = fresh || done == total || Clock::now() - drawn >= kDrawInterval;
  if (terminal && due)
    rewrite(done, total);
  else if (terminal)
    return;
  else if (total)
    log(done, total, fresh);
}

void ProgressLine::rewrite(uint64_t done, uint64_t total) {
  drawn = Clock::now();
  llvm::errs() << "\r\033[K" << stage;
  if (total) {
    constexpr uint64_t width = 30;
    uint64_t full = done * width / total;
    llvm::errs() << " [" << std::string(full, '#') << std::string(width - full, ' ')
                 << "] " << done * 100 / total << " %" << bytesText(done, total);
  }
  shown = true;
}

void ProgressLine::log(uint64_t done, uint64_t total, bool fresh) {
  const bool files = llvm::StringRef(stage).starts_with("kernels");
  const bool step = files && (fresh || done != loggedDone);
  const auto now = Clock::now();
  if (!step && now - logged < kLogInterval)
    return;
  logged = now;
  loggedDone = done;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begun);
  llvm::errs() << "glmc: " << stage << ": ";
  if (files)
    llvm::errs() << done << " of " << total << " files";
  else
    llvm::errs() << done * 100 / total << " %" << bytesText(done, total);
  llvm::errs() << ", " << seconds.count() << " s\n";
}

std::string ProgressLine::bytesText(uint64_t done, uint64_t total) const {
  if (stage != "pack" && stage != "quantise")
    return "";
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  std::string text = llvm::formatv(", {0:f2} of {1:f2} GB", done / 1e9, total / 1e9);
  const double rate = seconds > 0 ? (done - firstDone) / seconds : 0;
  if (rate > 0)
    text += llvm::formatv(", {0:f2} GB/s, {1:f0} s left", rate / 1e9,
                          (total - done) / rate)
                .str();
  return text;
}

void ProgressLine::clear() {
  if (shown)
    llvm::errs() << "\r\033[K";
  shown = false;
}
