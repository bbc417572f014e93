// Propagation of absl::Status. See CONTRIBUTING.md, "Errors".
#ifndef GLM_RUNTIME_BASE_STATUS_MACROS_H_
#define GLM_RUNTIME_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function when `expr` is not OK.
#define GLM_RETURN_IF_ERROR(expr)                              \
  do {                                                         \
    if (absl::Status glm_status = (expr); !glm_status.ok()) {  \
      return glm_status;                                       \
    }                                                          \
  } while (false)

#define GLM_CONCAT_INNER(a, b) a##b
#define GLM_CONCAT(a, b) GLM_CONCAT_INNER(a, b)

// Declares `lhs` from a StatusOr, or returns its status.
#define GLM_ASSIGN_OR_RETURN(lhs, expr) \
  GLM_ASSIGN_OR_RETURN_IMPL(GLM_CONCAT(glm_statusor_, __LINE__), lhs, expr)
#define GLM_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return tmp.status();             \
  lhs = *std::move(tmp)

#endif  // GLM_RUNTIME_BASE_STATUS_MACROS_H_
