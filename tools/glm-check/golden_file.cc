#include "tools/glm-check/golden_file.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm::check {
namespace {

template <typename T>
void Widen(std::span<const std::byte> bytes, std::vector<double>& out) {
  out.resize(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
}

absl::StatusOr<GoldenTensor> ReadTensor(const SafetensorsFile& file,
                                        const TensorEntry& entry) {
  GoldenTensor tensor;
  tensor.shape = entry.shape;
  if (entry.size == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(entry.name, " has no elements"));
  }
  switch (entry.dtype) {
    case StDType::kF32:
      Widen<float>(file.Bytes(entry), tensor.values);
      return tensor;
    case StDType::kI32:
      Widen<int32_t>(file.Bytes(entry), tensor.values);
      return tensor;
    case StDType::kI64:
      Widen<int64_t>(file.Bytes(entry), tensor.values);
      return tensor;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(entry.name, " is ", entry.dtype_name,
                       "; golden tensors are F32, I32 or I64"));
  }
}

// Token ids; what is no 32-bit integer becomes -1, which no vocabulary holds.
std::vector<int32_t> Ids(const GoldenTensor& tensor) {
  std::vector<int32_t> ids;
  for (double v : tensor.values) {
    ids.push_back(v >= 0 && v <= INT32_MAX ? static_cast<int32_t>(v) : -1);
  }
  return ids;
}

// Appends row `row` of a logits tensor.
void PushRow(const GoldenTensor& tensor, int64_t row,
             std::vector<std::vector<double>>& out) {
  const auto begin = tensor.values.begin() + row * tensor.row_size();
  out.emplace_back(begin, begin + tensor.row_size());
}

// Brings both layouts of a file to "logits that chose each token".
absl::Status CollectSteps(GoldenCase& c) {
  auto take = [&](const char* name) {
    auto it = c.tensors.find(name);
    return it == c.tensors.end() ? nullptr : &it->second;
  };
  if (const GoldenTensor* greedy = take("greedy")) {
    c.step_tokens = Ids(*greedy);
    if (const GoldenTensor* logits = take("logits")) {
      for (int64_t i = 0; i < logits->rows(); ++i) {
        PushRow(*logits, i, c.step_logits);
      }
    }
  } else if (const GoldenTensor* tokens = take("decode.tokens")) {
    c.step_tokens = Ids(*tokens);
    const GoldenTensor* first = take("prefill.logits");
    const GoldenTensor* logits = take("decode.logits");
    if (first != nullptr && first->rows() > 0) {
      PushRow(*first, first->rows() - 1, c.step_logits);
      for (int64_t i = 0; logits != nullptr && i < logits->rows(); ++i) {
        PushRow(*logits, i, c.step_logits);
      }
    }
  }
  if (c.step_logits.size() > c.step_tokens.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(c.name, " has logits of ", c.step_logits.size(),
                     " steps, but tokens of ", c.step_tokens.size()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<GoldenCase>> ReadGolden(const std::string& path) {
  GLM_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  auto annotate = [&](const absl::Status& status) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", std::string(status.message())));
  };
  constexpr std::string_view kIds = ".input_ids";
  std::vector<GoldenCase> cases;
  for (const TensorEntry& entry : file.tensors()) {
    std::string_view name = entry.name;
    if (!name.ends_with(kIds)) continue;
    GoldenCase c;
    c.name = name.substr(0, name.size() - kIds.size());
    absl::StatusOr<GoldenTensor> ids = ReadTensor(file, entry);
    if (!ids.ok()) return annotate(ids.status());
    c.input_ids = Ids(*ids);
    if (c.input_ids.empty()) {
      return annotate(absl::InvalidArgumentError(
          absl::StrCat(entry.name, " is empty; a case has at least one token")));
    }
    cases.push_back(std::move(c));
  }
  if (cases.empty()) {
    return annotate(absl::InvalidArgumentError(
        "no tensor is called <case>.input_ids; is this a golden file?"));
  }
  for (GoldenCase& c : cases) {
    const std::string prefix = c.name + ".";
    for (const TensorEntry& entry : file.tensors()) {
      if (!std::string_view(entry.name).starts_with(prefix)) continue;
      if (entry.name == c.name + std::string(kIds)) continue;
      absl::StatusOr<GoldenTensor> tensor = ReadTensor(file, entry);
      if (!tensor.ok()) return annotate(tensor.status());
      c.tensors[entry.name.substr(prefix.size())] = *std::move(tensor);
    }
    if (absl::Status s = CollectSteps(c); !s.ok()) return annotate(s);
    if (c.tensors.empty()) {
      return annotate(absl::InvalidArgumentError(
          absl::StrCat(c.name, " has input_ids and nothing to compare")));
    }
  }
  return cases;
}

}  // namespace glm::check
