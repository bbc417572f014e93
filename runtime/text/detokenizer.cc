#include "runtime/text/detokenizer.h"

namespace glm::text {

std::string Detokenizer::Push(int32_t id) {
  std::string out;
  if (options_.skip_special && tokenizer_->IsSpecial(id)) {
    return out;
  }
  decoder_.Push(tokenizer_->TokenBytes(id), out);
  return out;
}

std::string Detokenizer::Finish() {
  std::string out;
  decoder_.Finish(out);
  return out;
}

std::string Decode(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                   DetokenizerOptions options) {
  Detokenizer detokenizer(tokenizer, options);
  std::string out;
  for (int32_t id : ids) {
    out += detokenizer.Push(id);
  }
  out += detokenizer.Finish();
  return out;
}

}  // namespace glm::text
