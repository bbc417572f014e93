// Shared by the parts of the validator: where an error is, and arithmetic that
// cannot wrap. Private to runtime/plan.
#ifndef GLM_RUNTIME_PLAN_VALIDATION_CONTEXT_H_
#define GLM_RUNTIME_PLAN_VALIDATION_CONTEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/plan/element_bytes.h"
#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/weight_forms.h"

namespace glm::plan {

// Number of elements of an optional vector.
template <typename T>
uint32_t SizeOf(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

inline std::string Text(const flatbuffers::String* string) {
  return string == nullptr ? std::string() : string->str();
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// Elements of `shape`; nullopt when the product does not fit or exceeds
// kMaxBytes. An empty shape is one element.
inline std::optional<uint64_t> Elements(
    const flatbuffers::Vector<uint64_t>* shape) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < SizeOf(shape); ++i) {
    auto next = CheckedMul(product, shape->Get(i));
    if (!next || *next > kMaxBytes) return std::nullopt;
    product = *next;
  }
  return product;
}

inline std::string ShapeText(const flatbuffers::Vector<uint64_t>* shape) {
  std::string text = "[";
  for (uint32_t i = 0; i < SizeOf(shape); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", shape->Get(i));
  }
  return text + "]";
}

// The place that a check is at. Builds the error of a failed check.
class Place {
 public:
  explicit Place(std::string text) : text_(std::move(text)) {}

  // "PATH: entries[1] prefill_n256"
  Place At(const char* table, uint32_t index, const std::string& name) const {
    return Place(absl::StrCat(text_, ": ", table, "[", index, "]",
                              name.empty() ? "" : " ", name));
  }
  Place At(const char* field) const {
    return Place(absl::StrCat(text_, ": ", field));
  }

  template <typename... Args>
  absl::Status Bad(const Args&... args) const {
    return absl::DataLossError(absl::StrCat(
        text_, ": ", args..., "; the plan is damaged; compile it again"));
  }

 private:
  std::string text_;
};

absl::Status ValidateKernels(const Place& place, const Plan& plan);
absl::Status ValidateWeights(const Place& place, const Plan& plan);
absl::Status ValidateExpertRows(const Place& place, const Plan& plan);
absl::Status ValidateStates(const Place& place, const Plan& plan);
absl::Status ValidateEntries(const Place& place, const Plan& plan);

// The name of a kernel of docs/spec/kernels.md is that of its template and its
// params, so that the entry point fixes what the checks compute with.
absl::Status ValidateKernelName(const Place& at, const Kernel& kernel);

// What each launch touches lies in its arguments. Indices have been checked.
// `writers` becomes the launches that write each buffer.
absl::Status ValidateLaunches(const Place& place, const Plan& plan,
                              const Entry& entry,
                              std::multimap<uint32_t, uint32_t>& writers);

// Groups of launches. The launches have been checked.
absl::Status ValidateGroups(const Place& place, const Plan& plan,
                            const Entry& entry,
                            const std::multimap<uint32_t, uint32_t>& writers);

// A name that errors, traces and tools print: 1..kMaxNameLength printable
// ASCII characters.
absl::Status ValidateName(const Place& place, const flatbuffers::String* name);

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_VALIDATION_CONTEXT_H_
