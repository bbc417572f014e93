// What patterns may cost while a schema is compiled, in steps (limits.h).
#ifndef GLM_RUNTIME_GRAMMAR_PATTERN_WORK_H_
#define GLM_RUNTIME_GRAMMAR_PATTERN_WORK_H_

#include <cstddef>

#include "runtime/grammar/limits.h"

namespace glm::grammar {

class PatternWork {
 public:
  void Add(size_t steps) { steps_ += steps; }
  bool exhausted() const { return steps_ > kMaxPatternWork; }

 private:
  size_t steps_ = 0;
};

}  // namespace glm::grammar

#endif  // GLM_RUNTIME_GRAMMAR_PATTERN_WORK_H_
