// Shared memory of kernels as PTX declares it.
#include "compiler/codegen/SharedMemory.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glm::codegen {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const CodeTarget kPtx = {"sm_90", ""};

std::map<std::string, uint64_t> read(llvm::StringRef text) {
  auto bytes = sharedBytes(text, kPtx);
  EXPECT_TRUE(bool(bytes));
  return bytes ? *bytes : std::map<std::string, uint64_t>();
}

TEST(SharedMemoryTest, KernelHasWhatItAndItsFunctionsReferTo) {
  EXPECT_THAT(read(R"(
.weak .func helper
(
	.param .b64 helper_param_0
)
;
.weak .shared .align 16 .b8 used[100];
.weak .shared .align 4 .b32 words[8];
.shared .align 4 .f32 one;
.weak .shared .align 16 .b8 unused[4096];
.visible .entry first(
	.param .align 8 .b8 first_param_0[32]
)
{
	mov.u32 	%r1, used;
	call.uni 	helper, (param0);
	ret;
}
.visible .entry second()
{
	ld.shared.f32 	%f1, [one];
	// comment: used
	ret;
}
.weak .func  (.param .b32 func_retval0) helper(
	.param .b64 helper_param_0
)
{
	.shared .align 8 .b8 inner[24];
	ld.shared.b32 	%r1, [words+4];
	ret;
}
)"),
              UnorderedElementsAre(Pair("first", ::testing::AllOf(
                                                     ::testing::Ge(100u + 32 + 24),
                                                     ::testing::Le(100u + 32 + 24 + 16))),
                                   Pair("second", 4)));
}

TEST(SharedMemoryTest, TooMuchNamesKernelBytesLimitAndRemedy) {
  auto code = [](int bytes) {
    return ".shared .align 16 .b8 a[" + std::to_string(bytes) +
           "];\n.visible .entry big(\n)\n{\n\tmov.u32 %r1, a;\n}\n";
  };
  EXPECT_FALSE(bool(checkSharedMemory(code(49152), kPtx)));
  const std::string text = llvm::toString(checkSharedMemory(code(49153), kPtx));
  EXPECT_THAT(text, HasSubstr("kernel big for sm_90"));
  EXPECT_THAT(text, HasSubstr("49153 bytes of memory, the limit is 49152"));
  EXPECT_THAT(text, HasSubstr("--disable-pass=glm-fuse-phases"));
}

TEST(SharedMemoryTest, HostsShareNothingAndOtherBytesAreNoCodeObject) {
  EXPECT_FALSE(bool(checkSharedMemory("anything", {"host", "x86-64-v3"})));
  EXPECT_THAT(llvm::toString(checkSharedMemory("anything", {"gfx1201", ""})),
              HasSubstr("the code object for gfx1201 cannot be read"));
}

} // namespace
} // namespace glm::codegen
