// A compiler that notes what it is given and says what a test wants.
#include "runtime/device/gpu/kernel_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace glm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Noted {
  std::string source, code = "code", log;
  std::vector<std::string> options;
  int result = 0;  // of compile
  int alive = 0;
} noted;

KernelCompiler Compiler() {
  noted = Noted();
  KernelCompiler table;
  table.api = "fakeRTC";
  table.error_text = [](int) { return "compilation"; };
  table.create = {[](CompilerProgram* program, const char* source, const char*,
                     int, const char**, const char**) {
                    noted.source = source;
                    ++noted.alive;
                    *program = nullptr;
                    return 0;
                  },
                  "create"};
  table.compile = {[](CompilerProgram, int count, const char** options) {
                     noted.options.assign(options, options + count);
                     return noted.result;
                   },
                   "compile"};
  table.log_size = {[](CompilerProgram, size_t* size) {
                      *size = noted.log.size() + 1;
                      return 0;
                    },
                    "log_size"};
  table.log = {[](CompilerProgram, char* log) {
                 std::memcpy(log, noted.log.c_str(), noted.log.size() + 1);
                 return 0;
               },
               "log"};
  table.code_size = {[](CompilerProgram, size_t* size) {
                       *size = noted.code.size();
                       return 0;
                     },
                     "code_size"};
  table.code = {[](CompilerProgram, char* code) {
                  std::memcpy(code, noted.code.data(), noted.code.size());
                  return 0;
                },
                "code"};
  table.destroy = {[](CompilerProgram*) {
                     --noted.alive;
                     return 0;
                   },
                   "destroy"};
  return table;
}

TEST(KernelCompiler, CompilesForTheDeviceAndLeavesNothing) {
  const auto code = CompileKernels(Compiler(), "int x;", "gfx1200", "p");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, std::string("code\0", 5)) << "what is no ELF gets its end";
  EXPECT_EQ(noted.source, "int x;");
  EXPECT_THAT(noted.options, Contains("--offload-arch=gfx1200"));
  EXPECT_THAT(noted.options, Contains("-ffp-contract=fast"));
  EXPECT_EQ(noted.alive, 0);
}

TEST(KernelCompiler, ErrorsComeWithTheKernelAndTheCompilersWords) {
  const KernelCompiler compiler = Compiler();
  noted.result = 6;
  noted.log =
      "kernels.hip:2:3: error: needs target feature\n"
      "kernels.hip:5:1: note: in instantiation of function template "
      "specialization 'Linear<1>' requested here\n";
  const absl::Status status =
      CompileKernels(compiler,
                     "// a template\n  Multiply();\n\n"
                     "GLM_KERNEL(Embed_1, 256, 6, x)\n"
                     "GLM_TILE(LinearTile_1_0, 256, 6, (128), y)\n",
                     "gfx1100", "p.glmplan")
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  for (const char* text :
       {"p.glmplan: compiling kernels for gfx1100", "fakeRTC compile",
        "(error 6)",
        "in kernel LinearTile_1_0:", "error: needs target feature"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  EXPECT_EQ(noted.alive, 0);
  noted.log = "kernels.hip:99999999999999999999:1: error\nkernels.hip:";
  EXPECT_FALSE(CompileKernels(compiler, "", "gfx1100", "p").ok());
}

TEST(KernelCompiler, AMissingLibraryIsNamedWithWhatToInstall) {
  const auto compiler = LoadHipCompiler();
  if (compiler.ok()) GTEST_SKIP() << "hipRTC is installed";
  EXPECT_EQ(compiler.status().code(), absl::StatusCode::kUnavailable);
  for (const char* text : {"libhiprtc.so.7", "libhiprtc.so.5",
                           "/opt/rocm/lib/libhiprtc.so", "install"}) {
    EXPECT_THAT(std::string(compiler.status().message()), HasSubstr(text));
  }
}

}  // namespace
}  // namespace glm
