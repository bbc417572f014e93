// How far glmc has come.

#include "tools/glmc/ProgressLine.h"

#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace glm::glmc;

/// Between two lines of a log.
static constexpr std::chrono::seconds kLogInterval{10};

ProgressLine::ProgressLine() : terminal(isatty(STDERR_FILENO)) {}

void ProgressLine::show(llvm::StringRef name, uint64_t done, uint64_t total) {
  const bool fresh = name != stage;
  if (fresh) {
    stage = name.str();
    begun = logged = Clock::now();
  }
  if (terminal)
    rewrite(done, total);
  else if (total)
    log(done, total, fresh);
}

void ProgressLine::rewrite(uint64_t done, uint64_t total) {
  llvm::errs() << "\r\033[K" << stage;
  if (total) {
    constexpr uint64_t width = 30;
    uint64_t full = done * width / total;
    llvm::errs() << " [" << std::string(full, '#') << std::string(width - full, ' ')
                 << "] " << done * 100 / total << " %";
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
    llvm::errs() << done * 100 / total << " %";
  llvm::errs() << ", " << seconds.count() << " s\n";
}

void ProgressLine::clear() {
  if (shown)
    llvm::errs() << "\r\033[K";
  shown = false;
}
