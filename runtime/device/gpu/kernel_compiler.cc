#include "runtime/device/gpu/kernel_compiler.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/elf_image.h"

namespace glm {
namespace {

constexpr char kFile[] = "kernels.hip";
constexpr size_t kMostLog = 4000;  // shown, bytes
constexpr size_t kMostBytes = size_t{1} << 30;

// Line `number` of `text`, from 1; empty when there is none.
std::string_view Line(std::string_view text, size_t number) {
  for (; number > 1 && !text.empty(); --number) {
    text.remove_prefix(std::min(text.size(), text.find('\n')));
    if (!text.empty()) text.remove_prefix(1);
  }
  return text.substr(0, text.find('\n'));
}

// The kernel that the log speaks of first: its entry is on one of the lines
// that the compiler names. Empty when there is none.
std::string KernelInLog(std::string_view source, std::string_view log) {
  const std::string mark = absl::StrCat(kFile, ":");
  for (size_t at = log.find(mark); at != log.npos; at = log.find(mark, at)) {
    at += mark.size();
    size_t number = 0;
    std::from_chars(log.data() + at, log.data() + log.size(), number);
    const std::string_view line = Line(source, number);
    for (const std::string_view macro :
         {"GLM_KERNEL(", "GLM_ROWWISE(", "GLM_PAIRED(", "GLM_TILE(",
          "GLM_GROUP("}) {
      if (!line.starts_with(macro)) continue;
      return std::string(
          line.substr(macro.size(), line.find(',') - macro.size()));
    }
  }
  return "";
}

// A call that fills a buffer whose size another call gives.
template <typename Size, typename Fill>
absl::StatusOr<std::string> Text(const Size& size, const Fill& fill,
                                 CompilerProgram program) {
  size_t bytes = 0;
  if (const int result = size.function(program, &bytes)) {
    return absl::InternalError(absl::StrCat(size.name, ": error ", result));
  }
  if (bytes > kMostBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(size.name, ": ", bytes, " bytes"));
  }
  std::string text(bytes, '\0');
  if (bytes == 0) return text;
  if (const int result = fill.function(program, text.data())) {
    return absl::InternalError(absl::StrCat(fill.name, ": error ", result));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> CompileKernels(const KernelCompiler& compiler,
                                           const std::string& source,
                                           const std::string& architecture,
                                           const std::string& name) {
  const auto failed = [&](const char* call, int result) {
    return absl::InternalError(absl::StrCat(
        name, ": compiling kernels for ", architecture, ": ", compiler.api, " ",
        call, ": ", compiler.error_text(result), " (error ", result, ")"));
  };
  CompilerProgram program = nullptr;
  if (const int result = compiler.create.function(&program, source.c_str(),
                                                  kFile, 0, nullptr, nullptr)) {
    return failed(compiler.create.name, result);
  }
  // Those of glmc, so that kernels compute the same.
  const std::string arch = absl::StrCat("--offload-arch=", architecture);
  std::array<const char*, 6> options = {
      arch.c_str(),         "-std=c++20",      "-O3",
      "-ffp-contract=fast", "-fno-exceptions", "-w"};
  const int result = compiler.compile.function(
      program, static_cast<int>(options.size()), options.data());
  absl::StatusOr<std::string> code;
  if (result == 0) {
    code = Text(compiler.code_size, compiler.code, program);
  } else {
    std::string log = Text(compiler.log_size, compiler.log, program)
                          .value_or("the compiler left no log");
    const std::string kernel = KernelInLog(source, log);
    log.resize(std::min({log.size(), kMostLog, log.find('\0')}));
    code = absl::FailedPreconditionError(
        absl::StrCat(failed(compiler.compile.name, result).message(),
                     kernel.empty() ? "" : ", in kernel ", kernel, ":\n", log));
  }
  compiler.destroy.function(&program);
  // A driver gets no size: it must find the end by itself.
  if (code.ok() &&
      !BeginsElf(std::as_bytes(std::span(code->data(), code->size())))) {
    code->push_back('\0');
  }
  return code;
}

}  // namespace glm
