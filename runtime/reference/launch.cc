#include "runtime/reference/launch.h"

#include <utility>

namespace glm::reference {
namespace {

// The length of a span cannot exceed this; larger products are hostile.
constexpr int64_t kLongest = int64_t{1} << 48;

}  // namespace

Launch::Launch(const Call& call) : call_(call) {
  if (call.arguments.size() < 3) {
    Fail("a launch has at least the arguments seqs, N, T");
    return;
  }
  seqs_ = call.arguments[0].i32;
  tokens_ = call.arguments[1].integer;
  rows_ = call.arguments[2].integer;
  if (tokens_ <= 0 || rows_ < 0 || rows_ > kLongest) {
    Fail("N is " + std::to_string(tokens_) + " and T " + std::to_string(rows_) +
         "; N must be positive and T not negative");
    return;
  }
  sequences_ = (rows_ + tokens_ - 1) / tokens_;
  if (!seqs_.empty() && std::ssize(seqs_) < 4 * sequences_) {
    Fail("seqs holds " + std::to_string(seqs_.size() / 4) +
         " sequences, the rows need " + std::to_string(sequences_));
  }
}

bool Launch::Fail(std::string reason) {
  if (error_.empty()) {
    error_ = std::string(call_.op) + ": " + std::move(reason);
  }
  return false;
}

int64_t Launch::Param(size_t index) {
  if (index >= call_.params.size()) {
    Fail("parameter " + std::to_string(index) + " is missing");
    return 0;
  }
  const int64_t value = call_.params[index];
  if (value < 0 || value > kLongest) {
    Fail("parameter " + std::to_string(index) + " is " + std::to_string(value));
    return 0;
  }
  return value;
}

int64_t Launch::Integer(size_t index) {
  if (index >= call_.arguments.size()) {
    Fail("argument " + std::to_string(index) + " is missing");
    return 0;
  }
  return call_.arguments[index].integer;
}

float Launch::Real(size_t index) {
  if (index >= call_.arguments.size()) {
    Fail("argument " + std::to_string(index) + " is missing");
    return 0.0f;
  }
  return call_.arguments[index].real;
}

std::span<float> Launch::Floats(size_t index, int64_t length) {
  if (index >= call_.arguments.size() || length < 0 ||
      std::ssize(call_.arguments[index].f32) < length) {
    Fail("argument " + std::to_string(index) + " must be fp32 of at least " +
         std::to_string(length) + " elements");
    return {};
  }
  return call_.arguments[index].f32;
}

std::span<int32_t> Launch::Ints(size_t index, int64_t length) {
  if (index >= call_.arguments.size() || length < 0 ||
      std::ssize(call_.arguments[index].i32) < length) {
    Fail("argument " + std::to_string(index) + " must be int32 of at least " +
         std::to_string(length) + " elements");
    return {};
  }
  return call_.arguments[index].i32;
}

int64_t Launch::DistinctExperts(size_t index, int64_t experts) const {
  if (index >= call_.arguments.size()) return experts;
  const int64_t distinct = call_.arguments[index].distinct_experts;
  return distinct > 0 && distinct < experts ? distinct : experts;
}

bool Launch::Valid(int64_t row) const {
  return seqs_.empty() || row % tokens_ < Length(row / tokens_);
}

int64_t Launch::Context(int64_t row) const {
  return Position(row / tokens_) + row % tokens_ + 1;
}

bool Launch::NeedSequences() {
  if (!ok()) return false;
  if (seqs_.empty()) return Fail("needs a seqs table");
  for (int64_t s = 0; s < sequences_; ++s) {
    if (Length(s) < 0 || Length(s) > tokens_ || Position(s) < 0 ||
        seqs_[4 * s] < 0) {
      return Fail("sequence " + std::to_string(s) +
                  " has a slot, position or length out of range");
    }
  }
  return true;
}

std::span<float> Launch::Slot(size_t index, int64_t sequence, int64_t length) {
  const int64_t stride = Integer(index + 1);
  const int64_t slot = seqs_[4 * sequence];
  if (stride < 0 || stride > kLongest / (slot + 1) || length > stride) {
    Fail("state " + std::to_string(index) + " has " + std::to_string(stride) +
         " elements a slot, needs " + std::to_string(length));
    return {};
  }
  const std::span<float> all = Floats(index, slot * stride + length);
  return ok() ? all.subspan(slot * stride, length) : std::span<float>();
}

}  // namespace glm::reference
