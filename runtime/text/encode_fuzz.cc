// Any text through nano's tokenizer and back. The path of tokenizer.json comes
// from the environment: GLM_FUZZ_TOKENIZER.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/text/detokenizer.h"
#include "runtime/text/fuzz_tokenizer_test_files.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/utf8.h"

namespace {

using glm::text::Tokenizer;

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Tokenizer> tokenizer =
      glm::text::FuzzTokenizer();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (bool parse_added_tokens : {false, true}) {
    auto ids = tokenizer->Encode(text, {parse_added_tokens});
    Check(ids.ok());
    for (int32_t id : *ids) {
      Check(id >= 0 && id < tokenizer->vocab_size());
      Check(parse_added_tokens || !tokenizer->IsAdded(id));
    }
    Check(glm::text::Decode(*tokenizer, *ids, {}) ==
          glm::text::LossyUtf8(text));
  }
  return 0;
}
