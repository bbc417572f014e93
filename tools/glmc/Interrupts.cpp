// Signals of the user while glmc compiles.

#include "tools/glmc/Interrupts.h"

#include <signal.h>
#include <unistd.h>

using namespace glm::glmc;

static std::atomic<bool> raised{false};
static_assert(std::atomic<bool>::is_always_lock_free);

static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

static void onSignal(int) {
  if (raised.exchange(true))
    _exit(130);
}

Interrupts::Interrupts() {
  raised = false;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (int signal : kSignals) {
    struct sigaction before;
    // nohup has it ignored.
    if (signal == SIGHUP && sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler == SIG_IGN)
      continue;
    sigaction(signal, &action, nullptr);
  }
  signal(SIGXFSZ, SIG_IGN);
}

Interrupts::~Interrupts() {
  struct sigaction now;
  for (int signal : kSignals)
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == onSignal)
      ::signal(signal, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
}

const std::atomic<bool> *Interrupts::flag() const { return &raised; }
