// One line on stderr that is rewritten in place, on a terminal only.
#ifndef GLM_TOOLS_GLMC_PROGRESSLINE_H
#define GLM_TOOLS_GLMC_PROGRESSLINE_H

#include "llvm/Support/raw_ostream.h"

#include <string>

#include <unistd.h>

namespace glm::glmc {

class ProgressLine {
public:
  ProgressLine() : active(isatty(STDERR_FILENO)) {}
  ~ProgressLine() { clear(); }
  void show(llvm::StringRef stage, uint64_t done, uint64_t total) {
    if (!active)
      return;
    llvm::errs() << "\r\033[K" << stage;
    if (total) {
      constexpr uint64_t width = 30;
      uint64_t full = done * width / total;
      llvm::errs() << " [" << std::string(full, '#') << std::string(width - full, ' ')
                   << "] " << done * 100 / total << " %";
    }
    shown = true;
  }
  void clear() {
    if (shown)
      llvm::errs() << "\r\033[K";
    shown = false;
  }

private:
  bool active, shown = false;
};

} // namespace glm::glmc

#endif // GLM_TOOLS_GLMC_PROGRESSLINE_H
