//===- TinyCheckpoint.h - A checkpoint that a test makes --------*- C++ -*-===//
//
// Two layers (KDA with a dense FFN, DSA with two int4 experts) and an MTP
// layer, under released names, to be changed by a test and then written. Test
// support: not part of any library.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_TINYCHECKPOINT_H
#define GLM_MODELS_GLM53_TINYCHECKPOINT_H

#include "models/glm53/Config.h"
#include "models/glm53/Weights.h"
#include "runtime/safetensors/safetensors_writer.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace glm::glm53 {

/// hidden 48 and group 32: the last group of a row is a partial one.
inline constexpr char tinyConfigText[] = R"({
  "model_type": "glm5_next",
  "tie_word_embeddings": false,
  "image_token_id": 60,
  "text_config": {
    "model_type": "glm5_next_text",
    "hidden_size": 48, "num_hidden_layers": 2, "num_nextn_predict_layers": 1,
    "vocab_size": 64, "max_position_embeddings": 256,
    "layer_types": ["linear_attention", "deepseek_sparse_attention"],
    "mlp_layer_types": ["dense", "sparse"],
    "linear_attn_config": {"num_heads": 2, "head_dim": 8,
      "short_conv_kernel_size": 4, "gate_lower_bound": -5.0},
    "num_attention_heads": 2, "q_lora_rank": 16, "kv_lora_rank": 24,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 0, "v_head_dim": 8,
    "index_n_heads": 2, "index_head_dim": 8, "index_topk": 16,
    "index_kpool": 4, "intermediate_size": 40, "moe_intermediate_size": 16,
    "n_routed_experts": 2, "num_experts_per_tok": 1,
    "eos_token_id": [1, 2, 3], "pad_token_id": 1
  },
  "quantization_config": {"quant_method": "auto-round", "bits": 4,
    "group_size": 32, "sym": true, "data_type": "int",
    "packing_format": "auto_round:auto_gptq"}
})";

inline std::string jsonText(const llvm::json::Object &object) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::json::Value(llvm::json::Object(object));
  return text;
}

class TinyCheckpoint {
public:
  struct Tensor {
    StDType dtype;
    std::vector<int64_t> shape;
    std::string bytes;
  };

  TinyCheckpoint()
      : dir(testing::TempDir() + "/tiny-" +
            testing::UnitTest::GetInstance()->current_test_info()->name()),
        config(
            *llvm::cantFail(llvm::json::parse(tinyConfigText)).getAsObject()) {
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir);
    Config parsed = llvm::cantFail(Config::parse(tinyConfigText, "tiny"));
    Weights declared = Weights::declare(parsed, {.mtp = true});
    for (const WeightInfo &info : declared.all())
      addReleased(info);
  }
  ~TinyCheckpoint() { std::filesystem::remove_all(dir); }

  llvm::json::Object &text() { return *config.getObject("text_config"); }
  llvm::json::Object &quantization() {
    return *config.getObject("quantization_config");
  }

  /// Adds a tensor, or replaces it; its bytes follow from its name.
  void set(const std::string &name, StDType dtype, std::vector<int64_t> shape) {
    size_t size = StDTypeSize(dtype);
    for (int64_t dim : shape)
      size *= dim;
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * 37 + name.size() + name.back());
    tensors[name] = {dtype, std::move(shape), std::move(bytes)};
  }
  void setPacked(const std::string &name, int64_t n, int64_t k, int64_t group,
                 char zeros = 0x77) {
    set(name + ".qweight", StDType::kI32, {(k + 7) / 8, n});
    set(name + ".scales", StDType::kF16, {(k + group - 1) / group, n});
    set(name + ".qzeros", StDType::kI32,
        {(k + group - 1) / group, (n + 7) / 8});
    for (char &byte : tensors[name + ".qzeros"].bytes)
      byte = zeros;
  }
  /// Replaces the names by what `rename` makes of them.
  template <typename Fn> void rename(Fn fn) {
    std::map<std::string, Tensor> renamed;
    for (auto &[name, tensor] : tensors)
      renamed[fn(name)] = std::move(tensor);
    tensors = std::move(renamed);
  }

  /// Writes the tensors for which `fileOf` gives a file name, and an index
  /// over those for which `indexed` holds.
  template <typename FileOf, typename Indexed>
  void writeShards(FileOf fileOf, Indexed indexed) {
    std::map<std::string, SafetensorsWriter> writers;
    std::string map;
    for (auto &[name, tensor] : tensors) {
      std::string file = fileOf(name);
      writers[file].Add(name, tensor.dtype, tensor.shape,
                        std::as_bytes(std::span(tensor.bytes)));
      if (indexed(name))
        map += (map.empty() ? "\"" : ",\"") + name + "\":\"" + file + "\"";
    }
    for (auto &[file, writer] : writers)
      ASSERT_TRUE(writer.Write(dir + "/" + file).ok());
    std::ofstream(dir + "/model.safetensors.index.json")
        << "{\"weight_map\":{" << map << "}}";
  }
  void write() {
    SafetensorsWriter writer;
    for (auto &[name, tensor] : tensors)
      writer.Add(name, tensor.dtype, tensor.shape,
                 std::as_bytes(std::span(tensor.bytes)));
    ASSERT_TRUE(writer.Write(dir + "/model.safetensors").ok());
  }

  /// Parses the configuration and resolves what was written.
  llvm::Expected<Weights> resolve(WeightOptions options = {}) {
    llvm::Expected<Config> parsed = Config::parse(jsonText(config), "config");
    if (!parsed)
      return parsed.takeError();
    auto checkpoint = Checkpoint::Open(dir);
    if (!checkpoint.ok())
      return llvm::createStringError(
          llvm::Twine(std::string(checkpoint.status().message())));
    return Weights::resolve(*parsed, *checkpoint, options);
  }

  const std::string dir;
  llvm::json::Object config;
  std::map<std::string, Tensor> tensors;

private:
  void addReleased(const WeightInfo &info) {
    llvm::StringRef name = info.name;
    std::string prefix = name == "lm_head" ? "" : "model.language_model.";
    if (info.form == WeightInfo::Form::ExpertsGptq4) {
      auto [stack, projection] = name.rsplit('.');
      for (int64_t e = 0; e < info.shape[0]; ++e)
        setPacked(prefix +
                      (stack + "." + llvm::Twine(e) + "." + projection).str(),
                  info.shape[1], info.shape[2], info.group);
      return;
    }
    bool bare = name.contains(".hc_") || name.ends_with("A_log") ||
                name.ends_with("dt_bias") || name.ends_with("bias") ||
                name.contains("index_kpool");
    std::vector<int64_t> shape = info.shape;
    if (name.ends_with("_conv1d"))
      shape.insert(shape.begin() + 1, 1);
    set(prefix + info.name + (bare ? "" : ".weight"),
        info.dtype == WeightInfo::DType::F32 ? StDType::kF32 : StDType::kBF16,
        shape);
  }
};

/// The message of the error, or "accepted".
inline std::string faultOf(llvm::Expected<Weights> weights) {
  return weights ? "accepted" : llvm::toString(weights.takeError());
}

/// The value, or a test failure and an empty one.
inline Weights accepted(llvm::Expected<Weights> weights) {
  if (!weights) {
    ADD_FAILURE() << llvm::toString(weights.takeError());
    return Weights();
  }
  return std::move(*weights);
}

/// The bytes of all pieces of a weight, one string each.
inline std::vector<std::string> content(const Weights &weights,
                                        llvm::StringRef name) {
  std::vector<std::string> pieces;
  const WeightInfo *info = weights.find(name);
  if (!info)
    return pieces;
  for (const WeightInfo::Piece &piece : info->pieces) {
    auto buffer =
        llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFileSlice(
            weights.files()[piece.file].path, piece.size, piece.offset)));
    pieces.push_back(buffer->getBuffer().str());
  }
  return pieces;
}

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_TINYCHECKPOINT_H
