// Signals of the user while glmc compiles.
#ifndef GLM_TOOLS_GLMC_INTERRUPTS_H
#define GLM_TOOLS_GLMC_INTERRUPTS_H

#include <atomic>

namespace glm::glmc {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP sets a flag and a second one
/// ends the process at once, with exit code 130; a file that grows beyond `ulimit -f`
/// is an error like others. One at a time.
class Interrupts {
public:
  Interrupts();
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;
  ~Interrupts();

  const std::atomic<bool> *flag() const;
};

} // namespace glm::glmc

#endif // GLM_TOOLS_GLMC_INTERRUPTS_H
