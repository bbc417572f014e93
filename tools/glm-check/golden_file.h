// A golden file: what a reference implementation computed for some prompts.
//
// A case is every tensor that shares the prefix of one `<case>.input_ids`:
//
//   input_ids                     I32 [n]
//   prefill.logits                F32 [m, vocab]   the last m positions
//   prefill.layerL.streams        F32 [m, n, H]
//   prefill.layerL.topk_ids       I32 [m, k]       any order
//   prefill.layerL.topk_weights   F32 [m, k]
//   prefill.layerL.index_topk     I32 [m, j]       tokens, -1 = none, any order
//   decode.tokens                 I32 [s + 1]      tokens[0] follows the prompt
//   decode.logits                 F32 [s, vocab]   after tokens[i] was fed
//   decode0.layerL.*              as prefill, for the first decode step
//   greedy, logits                I32 [s], F32 [s, vocab]: logits[i] chose greedy[i]
#ifndef GLM_TOOLS_GLM_CHECK_GOLDEN_FILE_H_
#define GLM_TOOLS_GLM_CHECK_GOLDEN_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/safetensors/safetensors_file.h"

namespace glm::check {

// A tensor of a golden file; integers are widened exactly.
struct GoldenTensor {
  std::vector<int64_t> shape;
  std::vector<double> values;

  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
  int64_t row_size() const { return rows() ? values.size() / rows() : 0; }
};

struct GoldenCase {
  std::string name;
  std::vector<int32_t> input_ids;
  // Tokens fed after the prompt, and the logits that each choice was made from:
  // step_logits[i] chose step_tokens[i]; both may be absent.
  std::vector<int32_t> step_tokens;
  std::vector<std::vector<double>> step_logits;
  // Everything under `prefill.` and `decode0.`, by name without the case.
  std::map<std::string, GoldenTensor> tensors;
};

// Errors: those of SafetensorsFile, and kInvalidArgument for a file without cases
// or with tensors whose shapes contradict each other; the path begins the text.
absl::StatusOr<std::vector<GoldenCase>> ReadGolden(const std::string& path);

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_GOLDEN_FILE_H_
