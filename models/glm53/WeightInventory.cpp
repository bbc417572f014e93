//===- WeightInventory.cpp - Every weight that a Config implies -----------===//

#include "models/glm53/WeightInventory.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace glm::glm53 {

namespace {

class Inventory {
public:
  explicit Inventory(const Config &config) : c(config) {}

  void trunk();
  void mtpLayer();
  std::vector<WeightInfo> take() { return std::move(weights); }

private:
  using DType = WeightInfo::DType;
  using Use = WeightInfo::Use;
  using Split = WeightInfo::Split;

  void add(const Twine &name, std::vector<int64_t> shape,
           DType dtype = DType::BF16, Split split = Split::None) {
    WeightInfo info;
    info.name = name.str();
    info.dtype = dtype;
    info.split = split;
    info.shape = std::move(shape);
    weights.push_back(std::move(info));
  }
  void linear(const Twine &name, int64_t n, int64_t k,
              Use use = Use::Projection, Split split = Split::None) {
    add(name, {n, k}, DType::BF16, split);
    weights.back().use = use;
  }
  /// A projection that ranks divide.
  void linear(const Twine &name, int64_t n, int64_t k, Split split) {
    linear(name, n, k, Use::Projection, split);
  }
  void experts(const Twine &name, int64_t n, int64_t k, Split split) {
    add(name, {c.nRoutedExperts, n, k}, DType::BF16, split);
    weights.back().form = WeightInfo::Form::ExpertsGptq4;
    weights.back().group = c.quantization.method == Quantization::Method::Gptq4
                               ? c.quantization.groupSize
                               : 128;
  }
  void hyperConnection(const Twine &name) {
    linear(name + "_fn", c.hcRows(), c.hcMult * c.hiddenSize, Use::Linear);
    add(name + "_base", {c.hcRows()}, DType::F32);
    add(name + "_scale", {3}, DType::F32);
  }
  void kda(const Twine &self);
  void dsa(const Twine &self);
  void mlp(const Twine &name, int64_t width);
  void moe(const Twine &name);

  const Config &c;
  std::vector<WeightInfo> weights;
};

} // namespace

void Inventory::kda(const Twine &self) {
  int64_t h = c.hiddenSize, d = c.linearHeadDim, all = c.linearDim();
  for (StringRef x : {"q", "k", "v"})
    linear(self + x + "_proj", all, h, Split::Rows);
  for (StringRef x : {"q", "k", "v"})
    add(self + x + "_conv1d", {all, c.linearConvKernelDim}, DType::BF16,
        Split::Rows);
  for (StringRef x : {"f", "g"}) {
    linear(self + x + "_a_proj", d, h);
    linear(self + x + "_b_proj", all, d, Split::Rows);
  }
  linear(self + "b_proj", c.linearNumHeads, h, Split::Rows);
  add(self + "A_log", {c.linearNumHeads}, DType::F32, Split::Rows);
  add(self + "dt_bias", {all}, DType::F32, Split::Rows);
  add(self + "o_norm", {d});
  linear(self + "o_proj", h, all, Split::Columns);
}

void Inventory::dsa(const Twine &self) {
  int64_t h = c.hiddenSize, heads = c.numAttentionHeads, d = c.indexHeadDim;
  linear(self + "q_a_proj", c.qLoraRank, h);
  add(self + "q_a_layernorm", {c.qLoraRank});
  linear(self + "q_b_proj", heads * c.qkHeadDim, c.qLoraRank, Split::Rows);
  linear(self + "kv_a_proj_with_mqa", c.kvLoraRank, h);
  add(self + "kv_a_layernorm", {c.kvLoraRank});
  // Read along both dimensions: its groups would have to run along both.
  add(self + "kv_b_proj", {heads * (c.qkHeadDim + c.vHeadDim), c.kvLoraRank},
      DType::BF16, Split::Rows);
  linear(self + "o_proj", h, heads * c.vHeadDim, Split::Columns);
  linear(self + "indexer.wq_b", c.indexNHeads * d, c.qLoraRank);
  linear(self + "indexer.wk", d, h);
  add(self + "indexer.k_norm", {d});
  add(self + "indexer.k_norm.bias", {d});
  linear(self + "indexer.weights_proj", c.indexNHeads, h);
  add(self + "indexer.index_kpool_compress_ape", {c.indexKpool, d});
  linear(self + "indexer.index_kpool_compress_gate", d, h);
}

void Inventory::mlp(const Twine &name, int64_t width) {
  linear(name + "gate_proj", width, c.hiddenSize, Split::Rows);
  linear(name + "up_proj", width, c.hiddenSize, Split::Rows);
  linear(name + "down_proj", c.hiddenSize, width, Split::Columns);
}

void Inventory::moe(const Twine &name) {
  linear(name + "gate", c.nRoutedExperts, c.hiddenSize, Use::Linear);
  add(name + "gate.e_score_correction_bias", {c.nRoutedExperts}, DType::F32);
  const int64_t width = c.moeIntermediateSize;
  experts(name + "experts.gate_proj", width, c.hiddenSize, Split::Rows);
  experts(name + "experts.up_proj", width, c.hiddenSize, Split::Rows);
  experts(name + "experts.down_proj", c.hiddenSize, width, Split::Columns);
  mlp(name + "shared_experts.", c.moeIntermediateSize * c.nSharedExperts);
}

void Inventory::trunk() {
  add("embed_tokens", {c.vocabSize, c.hiddenSize});
  for (size_t i = 0; i < c.layers.size(); ++i) {
    std::string layer = ("layers." + Twine(i) + ".").str();
    hyperConnection(layer + "hc_attn");
    add(layer + "input_layernorm", {c.hiddenSize});
    if (c.layers[i].attention == AttentionKind::Kda)
      kda(layer + "self_attn.");
    else
      dsa(layer + "self_attn.");
    hyperConnection(layer + "hc_ffn");
    add(layer + "post_attention_layernorm", {c.hiddenSize});
    if (c.layers[i].ffn == FfnKind::Moe)
      moe(layer + "mlp.");
    else
      mlp(layer + "mlp.", c.intermediateSize);
  }
  add("norm", {c.hiddenSize});
  linear("lm_head", c.vocabSize, c.hiddenSize, Use::Head, Split::Rows);
}

/// Plain residuals, no embedding and no head of its own.
void Inventory::mtpLayer() {
  std::string layer = ("layers." + Twine(c.numHiddenLayers) + ".").str();
  add(layer + "enorm", {c.hiddenSize});
  add(layer + "hnorm", {c.hiddenSize});
  linear(layer + "eh_proj", c.hiddenSize, 2 * c.hiddenSize);
  add(layer + "input_layernorm", {c.hiddenSize});
  dsa(layer + "self_attn.");
  add(layer + "post_attention_layernorm", {c.hiddenSize});
  moe(layer + "mlp.");
  add(layer + "shared_head.norm", {c.hiddenSize});
}

std::vector<WeightInfo> expectedWeights(const Config &config, bool mtp) {
  Inventory inventory(config);
  inventory.trunk();
  if (mtp)
    inventory.mtpLayer();
  return inventory.take();
}

} // namespace glm::glm53
