// sequences.h - the arguments that all kernels share: seqs, N, T.
#pragma once

#include "glm/gpu.h"
#include "glm/host.h"
#include "glm/number.h"

namespace glm::kernel {

// Rows are grouped in sequences of N tokens; row t is token t % N of sequence
// t / N. Without a table (seqs == 0) every row is valid.
struct Sequences {
  const int32_t* table;  // [S, 4] = slot, position, length, 0
  int64_t tokens;        // N
  int64_t rows;          // T

  GLM_FN explicit Sequences(const Args& args)
      : table(static_cast<const int32_t*>(args.Pointer(0))),
        tokens(args.Integer(1)),
        rows(args.Integer(2)) {}

  // Divisions of 32 bits: a step has fewer rows than that, and a GPU takes some
  // hundred instructions for one of 64.
  GLM_FN int64_t Sequence(int64_t row) const {
    return uint32_t(row) / uint32_t(tokens);
  }
  GLM_FN int64_t Token(int64_t row) const {
    return uint32_t(row) % uint32_t(tokens);
  }
  GLM_FN bool Valid(int64_t row) const {
    return table == nullptr || Token(row) < Length(Sequence(row));
  }
  // Whether one of the rows first .. end - 1 is.
  GLM_FN bool AnyValid(int64_t first, int64_t end) const {
    for (int64_t row = first; row < end;) {
      if (Valid(row)) return true;
      row = (Sequence(row) + 1) * tokens;  // its sequence has ended
    }
    return false;
  }
  GLM_FN int64_t Slot(int64_t sequence) const { return table[4 * sequence]; }
  // Tokens in the state before this step.
  GLM_FN int64_t Position(int64_t sequence) const {
    return table[4 * sequence + 1];
  }
  // Valid rows of this step.
  GLM_FN int64_t Length(int64_t sequence) const {
    return table[4 * sequence + 2];
  }
  // Tokens of the row's sequence up to and including the row.
  GLM_FN int64_t Context(int64_t row) const {
    return Position(Sequence(row)) + Token(row) + 1;
  }
};

// The slot's memory of a state argument (base, stride) at args[index].
GLM_FN char* SlotMemory(const Args& args, int index, int64_t slot) {
  return static_cast<char*>(args.Pointer(index)) +
         slot * args.Integer(index + 1);
}

}  // namespace glm::kernel
