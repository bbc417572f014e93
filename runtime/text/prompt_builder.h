// `PromptBuilder` collects the segments of a prompt (chat_format.h): it joins
// neighbours of one kind and drops empty ones.
#ifndef GLM_RUNTIME_TEXT_PROMPT_BUILDER_H_
#define GLM_RUNTIME_TEXT_PROMPT_BUILDER_H_

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/chat_format.h"

namespace glm::text {

class PromptBuilder {
 public:
  void Control(std::string_view text) { Append(text, true); }
  void Text(std::string_view text) { Append(text, false); }
  void Append(std::string_view text, bool control);

  // Bytes [begin, end) of the concatenation of `from`, each of its kind.
  void Slice(const std::vector<Segment>& from, size_t begin, size_t end);

  std::vector<Segment> Take() { return std::move(segments_); }

 private:
  std::vector<Segment> segments_;
};

// Narrows [begin, end) of `text` to what Python's str.strip() leaves of it.
// Bytes that are not UTF-8 count as no space.
void PythonStrip(std::string_view text, size_t& begin, size_t& end);

}  // namespace glm::text

#endif  // GLM_RUNTIME_TEXT_PROMPT_BUILDER_H_
