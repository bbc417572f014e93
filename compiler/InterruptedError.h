//===- InterruptedError.h - The user ended it -------------------*- C++ -*-===//
//
// An error that a signal of the user caused (Ctrl-C, SIGTERM): programs end with
// exit code 130.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_INTERRUPTEDERROR_H
#define GLM_COMPILER_INTERRUPTEDERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace glm {

class InterruptedError : public llvm::ErrorInfo<InterruptedError> {
public:
  static inline char ID = 0;

  explicit InterruptedError(const llvm::Twine &text) : text(text.str()) {}
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return std::make_error_code(std::errc::interrupted);
  }

private:
  std::string text;
};

inline llvm::Error interruptedError(const llvm::Twine &text) {
  return llvm::make_error<InterruptedError>(text);
}

} // namespace glm

#endif // GLM_COMPILER_INTERRUPTEDERROR_H
