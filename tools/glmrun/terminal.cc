#include "tools/glmrun/terminal.h"

#include <signal.h>
#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"

namespace glm::tools {
namespace {

std::atomic<bool> raised{false};
std::atomic<bool> terminated{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int signal) {
  if (signal == SIGTERM) terminated.store(true);
  if (!raised.exchange(true)) return;
  if (isatty(STDOUT_FILENO)) {
    static constexpr char kReset[] = "\033[0m\n";
    (void)!write(STDOUT_FILENO, kReset, sizeof(kReset) - 1);
  }
  _exit(130);
}

double PerSecond(double count, double seconds) {
  return seconds > 0 ? count / seconds : 0;
}

}  // namespace

bool IsTerminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

Interrupts::Interrupts() {
  Clear();
  struct sigaction action = {};
  action.sa_handler = OnSignal;  // no SA_RESTART: a waiting read returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Interrupts::~Interrupts() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

const std::atomic<bool>* Interrupts::flag() const { return &tools::raised; }
bool Interrupts::terminated() const { return tools::terminated.load(); }
void Interrupts::Clear() { tools::raised.store(false); }

void ProgressBar::operator()(uint64_t done, uint64_t total) {
  static constexpr uint64_t kWidth = 30;
  if (!shown_) return;
  if (done >= total) {
    Clear();
    return;
  }
  if (done / unit_ == drawn_) return;
  drawn_ = done / unit_;
  const uint64_t filled = kWidth * done / total;
  std::fprintf(stderr, "\r%s [%s%s] %llu/%llu%s", what_,
               std::string(filled, '#').c_str(),
               std::string(kWidth - filled, ' ').c_str(),
               static_cast<unsigned long long>(drawn_),
               static_cast<unsigned long long>(total / unit_), unit_name_);
  std::fflush(stderr);
}

void ProgressBar::Clear() {
  if (!shown_ || drawn_ == ~uint64_t{0}) return;
  drawn_ = ~uint64_t{0};
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void StreamWriter::Write(const std::string& text, bool dimmed) {
  if (text.empty()) return;
  if (dimmed != dimmed_) {
    if (written_ && !dimmed) std::fputs("\n", stream_);
    if (colours_) std::fputs(dimmed ? "\033[2m" : "\033[0m", stream_);
    dimmed_ = dimmed;
  }
  std::fwrite(text.data(), 1, text.size(), stream_);
  std::fflush(stream_);
  written_ = true;
}

void StreamWriter::Finish() {
  if (!written_) return;
  if (colours_ && dimmed_) std::fputs("\033[0m", stream_);
  std::fputs("\n", stream_);
  std::fflush(stream_);
  written_ = dimmed_ = false;
}

double PrefillTokensPerSecond(const GenerateResult& result) {
  return PerSecond(result.prompt_tokens - result.cached_tokens,
                   result.prefill_seconds);
}

double DecodeTokensPerSecond(const GenerateResult& result) {
  return PerSecond(result.decode_steps, result.decode_seconds);
}

std::string Summary(const GenerateResult& result) {
  std::array<char, 256> text;
  const std::string reused =
      result.cached_tokens == 0
          ? ""
          : absl::StrCat(" (", result.cached_tokens, " reused)");
  std::snprintf(text.data(), text.size(),
                "%u prompt tokens%s at %.1f tok/s, %zu tokens at %.1f tok/s, "
                "%s",
                result.prompt_tokens, reused.c_str(),
                PrefillTokensPerSecond(result), result.ids.size(),
                DecodeTokensPerSecond(result),
                FinishReasonName(result.finish_reason));
  return text.data();
}

}  // namespace glm::tools
