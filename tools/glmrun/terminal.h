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

// A bar on stderr while a long prompt is read; nothing when stderr is no
// terminal. Fits GenerateOptions.on_prefill; wipes itself at the end.
class PrefillBar {
 public:
  PrefillBar() : shown_(IsTerminal(stderr)) {}
  void operator()(uint32_t done, uint32_t total) const;

 private:
  bool shown_;
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
