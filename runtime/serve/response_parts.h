// What the JSON of chats and of completions has in common.
#ifndef GLM_RUNTIME_SERVE_RESPONSE_PARTS_H_
#define GLM_RUNTIME_SERVE_RESPONSE_PARTS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/serve/answer.h"
#include "runtime/text/tokenizer.h"

namespace glm::serve {

struct AnswerHead {
  std::string id;           // "chatcmpl-..."
  int64_t created = 0;      // seconds since 1970
  std::string model;        // the name it is served under
  std::string fingerprint;  // of plan and program
  bool include_usage = false;
  bool logprobs = false;
};

// {"id", "object", "created", "model", "system_fingerprint"}
nlohmann::ordered_json HeadJson(const AnswerHead& head, const char* object);

nlohmann::ordered_json UsageJson(const AnswerUsage& usage);

// Text and bytes of a token. Bytes of all tokens, joined, are the bytes that
// were generated; the text of one alone may be U+FFFD.
std::string TokenText(const text::Tokenizer& tokenizer, int32_t id);

// What JSON can hold: -9999 for -inf, as OpenAI's API has it.
float JsonLogprob(float logprob);

// `prefix` and random digits: "chatcmpl-5f0c...".
std::string RandomId(const char* prefix);

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_RESPONSE_PARTS_H_
