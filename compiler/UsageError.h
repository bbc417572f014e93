//===- UsageError.h - The command line is at fault --------------*- C++ -*-===//
//
// An error that the value of an option, or what options ask for together, causes:
// programs end with exit code 2. Every other error is of what was read or could not
// be written: exit code 1.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_USAGEERROR_H
#define GLM_COMPILER_USAGEERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace glm {

class UsageError : public llvm::ErrorInfo<UsageError> {
public:
  static inline char ID = 0;

  explicit UsageError(const llvm::Twine &text) : text(text.str()) {}
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return std::make_error_code(std::errc::invalid_argument);
  }

private:
  std::string text;
};

inline llvm::Error usageError(const llvm::Twine &text) {
  return llvm::make_error<UsageError>(text);
}

} // namespace glm

#endif // GLM_COMPILER_USAGEERROR_H
