// Module text to a plan file for the host, through the compiler's own pipeline.
#ifndef TEST_DIFFERENTIAL_COMPILE_H_
#define TEST_DIFFERENTIAL_COMPILE_H_

#include <string>
#include <vector>

namespace glm::differential {

// A way through the pipeline.
struct Variant {
  std::string name;
  bool fuse = true;
  std::vector<std::string> disabled;  // passes
};

// Writes the plan `path`; false, with the reason in `error`, when the compiler
// refuses. Kernels are compiled without optimisation: that is quick, and the
// same operations give the same bits wherever they stand.
bool CompilePlan(const std::string& module_text, const Variant& variant,
                 const std::string& path, std::string* error);

}  // namespace glm::differential

#endif  // TEST_DIFFERENTIAL_COMPILE_H_
