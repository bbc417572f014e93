// Scalar loads of gfx1201 kernels after a wait for other blocks.
//
// A scalar load reads through a cache that no fence of ours empties. What
// another block stored while this one ran must therefore be read by vector
// loads; a compiler that made such a load scalar would give old values, now and
// then. This reads the disassembly of kernels and reports each scalar load that
// may follow a wait and whose address is not provably that of the kernel's
// arguments (s[0:1] at entry, plus anything).
//
// A wait is known by its first read of a counter: a vector load of device
// scope. What may follow is found along branches. Registers that hold the
// arguments' address are followed through moves, additions, selections and
// lanes of vector registers; every other way to make one is taken for unknown,
// so a report may be wrong, silence is not.
#ifndef GLM_TEST_PLANS_SCALAR_LOADS_H_
#define GLM_TEST_PLANS_SCALAR_LOADS_H_

#include <istream>
#include <string>
#include <vector>

namespace glm {

struct ScalarLoads {
  int kernels_that_wait = 0;
  int loads_after_waits = 0;       // of arguments, and the stray ones
  std::vector<std::string> stray;  // "kernel: instruction", or what is not
                                   // understood
};

// `disassembly` is the output of llvm-objdump-22 -d.
ScalarLoads CheckScalarLoads(std::istream& disassembly);

}  // namespace glm

#endif  // GLM_TEST_PLANS_SCALAR_LOADS_H_
