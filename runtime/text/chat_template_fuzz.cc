// Any conversation as a prompt: what users, tools and histories say becomes no
// control token, whatever it spells (chat_prompts_test_files.h). nano's
// tokenizer.json comes from the environment: GLM_FUZZ_TOKENIZER.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/text/chat_prompts_test_files.h"
#include "runtime/text/fuzz_tokenizer_test_files.h"
#include "runtime/text/tokenizer.h"

namespace {

using glm::text::Tokenizer;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Tokenizer> tokenizer =
      glm::text::FuzzTokenizer();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string wrong = glm::text::WrongInPrompt(
      *tokenizer, glm::text::ChatFromBytes(bytes).Read());
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
