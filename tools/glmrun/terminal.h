// Terminal manners: progress on stderr, dimmed text, interrupts.
#ifndef GLM_TOOLS_GLMRUN_TERMINAL_H_
#define GLM_TOOLS_GLMRUN_TERMINAL_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

#include "runtime/sequence/generator.h"

namespace glm::tools {

bool IsTerminal(std::FILE* stream);

// While one exists, SIGINT and SIGTERM set `flag` instead of ending the
// process. A second signal before `Clear` ends it at once, with code 130. One
// at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  const std::atomic<bool>* flag() const;
  bool raised() const { return flag()->load(); }
  bool terminated() const;  // by SIGTERM
  void Clear();
};

// A bar on stderr while `what` goes on; nothing when stderr is no terminal.
// Fits GenerateOptions.on_prefill and ExecutorOptions.on_weights_read; wipes
// itself at the end, and with Clear when the end does not come.
class ProgressBar {
 public:
  // `unit` > 1 shows the numbers in multiples of it.
  explicit ProgressBar(const char* what, uint64_t unit = 1,
                       const char* unit_name = "")
      : what_(what),
        unit_(unit),
        unit_name_(unit_name),
        shown_(IsTerminal(stderr)) {}
  void operator()(uint64_t done, uint64_t total);
  void Clear();

 private:
  const char* what_;
  uint64_t unit_;
  const char* unit_name_;
  bool shown_;
  uint64_t drawn_ = ~uint64_t{0};  // the units last shown
};

// Writes a stream of reasoning and answer: reasoning dimmed on terminals.
class StreamWriter {
 public:
  explicit StreamWriter(std::FILE* stream)
      : stream_(stream), colours_(IsTerminal(stream)) {}
  ~StreamWriter() { Finish(); }

  void Write(const std::string& text, bool dimmed);
  void Finish();  // ends the line, if one was begun

 private:
  std::FILE* stream_;
  bool colours_;
  bool dimmed_ = false;
  bool written_ = false;
};

// "12 prompt tokens (8 reused) at 812.4 tok/s, 64 tokens at 31.0 tok/s, stop".
std::string Summary(const GenerateResult& result);

double PrefillTokensPerSecond(const GenerateResult& result);
double DecodeTokensPerSecond(const GenerateResult& result);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_TERMINAL_H_
