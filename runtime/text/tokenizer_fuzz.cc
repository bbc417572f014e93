// Any bytes as tokenizer.json: an error or a tokenizer that works.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/text/detokenizer.h"
#include "runtime/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto tokenizer = glm::text::Tokenizer::FromJson(bytes, "fuzz.json");
  if (tokenizer.ok()) {
    auto ids = (*tokenizer)->Encode("a  b1234's \xFF\u6771<|user|>\n", {true});
    if (ids.ok()) {
      glm::text::Decode(**tokenizer, *ids, {});
    }
  }
  return 0;
}
