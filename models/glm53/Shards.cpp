//===- Shards.cpp - What one of several ranks has of the model -------------===//
//
// docs/decisions/0021: heads and inner columns are divided, the rest is not.
//
// A stored matrix is lines of equal length: rows of [N, K], or of the transposed
// words and scales of GPTQ. A division of the lines leaves each rank a
// contiguous range; one along them leaves a range of every line, a Cut.
//
//===----------------------------------------------------------------------===//

#include "models/glm53/Weights.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace glm::glm53 {

using Form = WeightInfo::Form;
using Split = WeightInfo::Split;

namespace {

/// One piece of a whole matrix, as lines, and what each rank has of it: `units`
/// lines or, divided along them, bytes of every line, from `first` on.
struct Lines {
  uint64_t count, bytes; ///< lines, and bytes of each
  bool along;            ///< divided along the lines
  uint64_t units;
  std::vector<uint64_t> first; ///< [ranks]
};

/// Equal parts of `whole` units.
Lines evenly(uint64_t count, uint64_t bytes, bool along, int64_t ranks) {
  Lines lines{count, bytes, along, (along ? bytes : count) / ranks, {}};
  for (int64_t r = 0; r < ranks; ++r)
    lines.first.push_back(r * lines.units);
  return lines;
}

/// The pieces of one matrix of `info`, the whole weight.
std::vector<Lines> linesOf(const WeightInfo &info, int64_t ranks) {
  const bool rows = info.split == Split::Rows;
  ArrayRef<int64_t> shape = info.shape;
  if (info.isExperts())
    shape = shape.drop_front();
  const uint64_t n = shape.front(), k = shape.back();
  if (!info.isCoded()) {
    uint64_t bytes = info.dtype == WeightInfo::DType::F32 ? 4 : 2;
    for (int64_t dim : shape.drop_front())
      bytes *= dim;
    return {evenly(n, bytes, !rows, ranks)};
  }
  const uint64_t group = info.group, groups = divideCeil(k, group);
  // Scales of a rank: those of its groups, or that of the one it lies in.
  const uint64_t local = k / ranks, scales = std::max<uint64_t>(local / group, 1);
  auto scaleLines = [&](uint64_t count, uint64_t bytes, bool along) {
    if (rows)
      return evenly(count, bytes, along, ranks);
    const uint64_t unit = along ? 2 : 1;
    Lines lines{count, bytes, along, scales * unit, {}};
    for (int64_t r = 0; r < ranks; ++r)
      lines.first.push_back(r * local / group * unit);
    return lines;
  };
  if (info.form == Form::DenseInt8)
    return {evenly(n, k, !rows, ranks), scaleLines(n, 2 * groups, !rows)};
  return {evenly(divideCeil(k, 8), 4 * n, rows, ranks),
          scaleLines(groups, 2 * n, rows)};
}

/// Why `info` cannot be divided; empty when it can.
std::string whyNot(const WeightInfo &info, int64_t ranks) {
  const bool rows = info.split == Split::Rows;
  const int64_t size = rows ? info.shape[info.isExperts()] : info.shape.back();
  auto say = [&](const Twine &what) {
    return (info.name + ": " + Twine(size) + (rows ? " rows" : " columns") +
            " over " + Twine(ranks) + " ranks" + what)
        .str();
  };
  if (size % ranks != 0)
    return say(" do not divide");
  const int64_t local = size / ranks;
  if (rows || !info.isCoded())
    return "";
  if (local % info.group != 0 && info.group % local != 0)
    return say(" are " + Twine(local) + " each, which are no whole groups of " +
               Twine(info.group));
  const int64_t unit = info.form == Form::DenseInt8 ? 16 : 8;
  if (local % unit != 0)
    return say(" are " + Twine(local) + " each, which kernels of codes take " +
               Twine(unit) + " at a time");
  return "";
}

void divide(WeightInfo &info, int64_t ranks) {
  const std::vector<Lines> lines = linesOf(info, ranks);
  std::vector<WeightInfo::Piece> whole = std::move(info.pieces);
  info.pieces.clear();
  info.source.reset();
  for (int64_t r = 0; r < ranks; ++r)
    for (auto [i, piece] : enumerate(whole)) {
      const Lines &l = lines[i % lines.size()];
      const uint64_t unit = l.along ? 1 : l.bytes;
      info.pieces.push_back(
          {piece.file, piece.offset + l.first[r] * unit,
           l.along ? (l.count - 1) * l.bytes + l.units : l.units * unit});
    }
  if (!whole.empty() && lines.front().along)
    for (const Lines &l : lines)
      info.cuts.push_back({l.count, l.units, l.bytes});

  int64_t &size = info.split == Split::Rows ? info.shape[info.isExperts()]
                                            : info.shape.back();
  size /= ranks;
  if (info.isCoded() && info.split == Split::Columns)
    info.group = std::min(info.group, size);
  info.split = Split::None;
}

/// Divides `info` where it is to be; why not, when it cannot.
Error divideWeight(WeightInfo &info, int64_t ranks) {
  if (ranks == 1 || info.split == Split::None)
    return Error::success();
  if (std::string why = whyNot(info, ranks); why.empty())
    divide(info, ranks);
  else if (info.use != WeightInfo::Use::Head) // which stays whole
    return createStringError(why);
  return Error::success();
}

} // namespace

Expected<Config> Config::shard(int64_t ranks) const {
  Config local = *this;
  for (auto [member, name] :
       {std::pair(&Config::linearNumHeads, "linear_attn_config.num_heads"),
        {&Config::numAttentionHeads, "num_attention_heads"},
        {&Config::intermediateSize, "intermediate_size"},
        {&Config::moeIntermediateSize, "moe_intermediate_size"}}) {
    if (local.*member % ranks != 0)
      return createStringError("config.json: " + Twine(name) + " = " +
                               Twine(local.*member) + " does not divide among " +
                               Twine(ranks) + " ranks");
    local.*member /= ranks;
  }
  return local;
}

Expected<Weights> Weights::shard(int64_t ranks) const {
  Weights result = *this;
  for (WeightInfo &info : result.weights)
    if (Error e = divideWeight(info, ranks))
      return std::move(e);
  return std::move(result);
}

Expected<Weights> Weights::shardExperts(int64_t ranks) const {
  Weights result = *this;
  for (WeightInfo &info : result.weights)
    if (info.isExperts())
      if (Error e = divideWeight(info, ranks))
        return std::move(e);
  return std::move(result);
}

} // namespace glm::glm53
