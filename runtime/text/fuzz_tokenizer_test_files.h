// The tokenizer of a fuzzer: the tokenizer.json that GLM_FUZZ_TOKENIZER names.
// Without one the program ends with 2 and says so.
#ifndef GLM_RUNTIME_TEXT_FUZZ_TOKENIZER_TEST_FILES_H_
#define GLM_RUNTIME_TEXT_FUZZ_TOKENIZER_TEST_FILES_H_

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "runtime/base/mapped_file.h"
#include "runtime/text/tokenizer.h"

namespace glm::text {

inline std::unique_ptr<Tokenizer> FuzzTokenizer() {
  const char* path = std::getenv("GLM_FUZZ_TOKENIZER");
  auto file = MappedFile::Open(path == nullptr ? "" : path);
  if (!file.ok()) {
    std::fprintf(stderr, "set GLM_FUZZ_TOKENIZER to a tokenizer.json\n");
    std::exit(2);
  }
  return *Tokenizer::FromJson(
      {reinterpret_cast<const char*>(file->bytes().data()),
       file->bytes().size()},
      path);
}

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_FUZZ_TOKENIZER_TEST_FILES_H_
