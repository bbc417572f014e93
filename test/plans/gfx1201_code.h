// What LLVM's tools say of a plan's code object for gfx1201.
#ifndef GLM_TEST_PLANS_GFX1201_CODE_H_
#define GLM_TEST_PLANS_GFX1201_CODE_H_

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"

namespace glm {

// What `program` with `flags` prints of the code object; the environment's
// `variable` may name another program. Empty, with a failure, without one.
inline std::string ToolOnGfx1201Code(const PlanFile& plan, const char* variable,
                                     const std::string& program,
                                     const std::string& flags) {
  std::string output;
  for (const plan::CodeObject* object : *plan.plan().code_objects()) {
    if (object->target()->string_view() != "gfx1201") continue;
    const auto bytes = plan.SegmentBytes(*object->segment(), "code object");
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    if (!bytes.ok()) return output;
    char path[] = "/tmp/gfx1201XXXXXX";
    const int file = mkstemp(path);
    EXPECT_EQ(write(file, bytes->data(), bytes->size()),
              ssize_t(bytes->size()));
    close(file);
    const char* named = std::getenv(variable);
    const std::string command =
        (named ? named : program) + " " + flags + " " + path;
    if (std::FILE* pipe = popen(command.c_str(), "r")) {
      char part[1 << 16];
      for (size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) {
        output.append(part, n);
      }
      pclose(pipe);
    }
    unlink(path);
  }
  EXPECT_FALSE(output.empty()) << program << " gave nothing";
  return output;
}

}  // namespace glm

#endif  // GLM_TEST_PLANS_GFX1201_CODE_H_
