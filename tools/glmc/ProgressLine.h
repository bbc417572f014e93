// How far glmc has come, on stderr: on a terminal one line that is rewritten in place;
// elsewhere, in a log, a line for each file of kernels and one every some seconds of other
// long work.
#ifndef GLM_TOOLS_GLMC_PROGRESSLINE_H
#define GLM_TOOLS_GLMC_PROGRESSLINE_H

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <string>

namespace glm::glmc {

class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  /// `done` of `total` in `stage`; total 0: not counted.
  void show(llvm::StringRef stage, uint64_t done, uint64_t total);
  /// Makes room for other text.
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  void rewrite(uint64_t done, uint64_t total);
  void log(uint64_t done, uint64_t total, bool fresh);

  bool terminal, shown = false;
  std::string stage;
  Clock::time_point begun, logged;
  uint64_t loggedDone = 0;
};

} // namespace glm::glmc

#endif // GLM_TOOLS_GLMC_PROGRESSLINE_H
