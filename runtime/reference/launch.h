// -----------------------------------------------------------------------------
// File: launch.h
// -----------------------------------------------------------------------------
//
// `Launch` is a checked view of a Call for the functions in this folder: it
// answers for arguments, parameters, valid rows and slots, and remembers the
// first thing that was wrong. Internal to runtime/reference.
//
// The functions ask for what they need, then check ok() once, and index freely:
// a span from Floats or Ints has at least the length that was asked for.

#ifndef RUNTIME_REFERENCE_LAUNCH_H_
#define RUNTIME_REFERENCE_LAUNCH_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/reference/reference.h"

namespace glm::reference {

class Launch {
 public:
  explicit Launch(const Call& call);

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  bool Fail(std::string reason);  // keeps the first reason; returns false

  int64_t rows() const { return rows_; }      // T
  int64_t tokens() const { return tokens_; }  // N
  int64_t Param(size_t index);
  int64_t Integer(size_t index);
  float Real(size_t index);
  std::span<float> Floats(size_t index, int64_t length);
  std::span<int32_t> Ints(size_t index, int64_t length);

  // Experts that the weight at `index` holds, of `experts`.
  int64_t DistinctExperts(size_t index, int64_t experts) const;

  // Row t is token t % N of sequence t / N.
  bool Valid(int64_t row) const;
  int64_t sequences() const { return sequences_; }
  int64_t Length(int64_t sequence) const { return seqs_[4 * sequence + 2]; }
  int64_t Position(int64_t sequence) const { return seqs_[4 * sequence + 1]; }
  // Tokens of the row's sequence up to and including the row.
  int64_t Context(int64_t row) const;
  // Needs a seqs table whose sequences fit T rows.
  bool NeedSequences();
  // `length` elements of the sequence's slot of the state at `index`, whose
  // stride is the next argument; empty, and not ok, when it is not that long.
  std::span<float> Slot(size_t index, int64_t sequence, int64_t length);

 private:
  const Call& call_;
  std::span<const int32_t> seqs_;
  int64_t tokens_ = 0;
  int64_t rows_ = 0;
  int64_t sequences_ = 0;
  std::string error_;
};

// One op of docs/spec/kernels.md: its function and, unless it only moves or
// chooses, Bound::of_largest (docs/spec/numerics.md).
struct Op {
  std::string_view name;
  bool (*run)(Launch&);
  double of_largest;
  bool exact;
};

// The ops of each file, in a table at its end.
std::span<const Op> LinearOps();
std::span<const Op> RowOps();
std::span<const Op> RecurrentOps();
std::span<const Op> AttentionOps();
bool Rowwise(Launch& launch, const RowProgram& program);

}  // namespace glm::reference

#endif  // RUNTIME_REFERENCE_LAUNCH_H_
