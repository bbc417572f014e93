// How far glmc has come, on stderr: on a terminal one line that is rewritten in place;
// elsewhere, in a log, a line for each file of kernels and one every some seconds of other
// long work. Work on bytes comes with their rate and the time that is left.
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
  /// Of stages that count bytes: ", 1.20 of 147.30 GB, 0.95 GB/s, 154 s left".
  std::string bytesText(uint64_t done, uint64_t total) const;

  bool terminal, shown = false;
  std::string stage;
  Clock::time_point begun, logged;
  uint64_t loggedDone = 0;
  uint64_t firstDone = 0; // of the stage, before this process
  Clock::time_point drawn;
};

} // namespace glm::glmc

#endif // GLM_TOOLS_GLMC_PROGRESSLINE_H
