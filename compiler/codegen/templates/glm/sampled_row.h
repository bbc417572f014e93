// sampled_row.h - the numbers of sampling: items, weights, draws
// (docs/spec/sampling.md). The host's sampler computes the same bits: every
// product whose result is added to something is a fused one, spelt out.
#pragma once

#include "glm/gpu.h"
#include "glm/host.h"
#include "glm/number.h"

namespace glm::kernel {

// A part of a row, in ids; the last ones may be shorter, or empty.
template <int64_t V, int64_t parts>
inline constexpr int64_t kPartOf = CeilDiv(V, parts);

// An item is a logit and its id, ordered by logit, equal ones by the lower id.
inline constexpr uint64_t kNoItem = 0;              // of -inf
inline constexpr uint64_t kBadItem = ~uint64_t{0};  // of NaN and inf

GLM_FN int64_t IdOf(uint64_t item) {
  return int64_t(0xffffffffu - uint32_t(item));
}

// top_p that takes everything.
inline constexpr uint32_t kWhole = 1u << 24;

// floor(total * part / 2^24), total below 2^63.
GLM_FN uint64_t PartOf(uint64_t total, uint32_t part) {
  return (total >> 24) * part + ((total & (kWhole - 1)) * part >> 24);
}

GLM_FN float Fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

// 2^40 * 2^(below * scale) for below <= 0, a whole number; 0 for less than 1.
GLM_FN uint64_t FixedExp2(float below, float scale) {
  if (!(below * scale > -40.0f)) return 0;
  const int32_t whole = int32_t(Fused(below, scale, -0.5f));
  const float r = Fused(below, scale, -float(whole)) * 0.693147182464599609375f;
  float p = 1.0f / 5040;
  p = Fused(p, r, 1.0f / 720);
  p = Fused(p, r, 1.0f / 120);
  p = Fused(p, r, 1.0f / 24);
  p = Fused(p, r, 1.0f / 6);
  p = Fused(p, r, 0.5f);
  p = Fused(p, r, 1.0f);
  p = Fused(p, r, 1.0f);
  return (uint64_t(uint32_t(p * 8388608.0f)) << 17) >> -whole;
}

template <int64_t V, int64_t parts>
struct SampledRow {
  static_assert(V < (1 << 24) && parts <= 256, "digits of Crossing");
  // Words of a slot before the counts; a count has the top bit set where the
  // token is in the prompt, and below it how often it was sampled.
  static constexpr int kScale = 0, kTopP = 1, kTopK = 2, kRepetition = 3,
                       kInverse = 4, kPresence = 5, kFrequency = 6,
                       kPenalties = 7, kSeed = 8, kCounts = 16;
  const float* logits;
  const int32_t* at;  // slot, position
  int32_t* slot;
  uint64_t* best;
  uint64_t* sums;
  int32_t* counts;
  int32_t* listed;
  int32_t* sampled;

  GLM_FN SampledRow(const Args& args, int64_t row)
      : logits(static_cast<const float*>(args.Pointer(3)) + row * V),
        at(static_cast<const int32_t*>(args.Pointer(4)) + row * 4),
        slot(reinterpret_cast<int32_t*>(static_cast<char*>(args.Pointer(5)) +
                                        at[0] * args.Integer(6))),
        best(static_cast<uint64_t*>(args.Pointer(7)) + row * parts),
        sums(static_cast<uint64_t*>(args.Pointer(8)) + row * parts),
        counts(static_cast<int32_t*>(args.Pointer(9)) + row * parts),
        listed(static_cast<int32_t*>(args.Pointer(10)) + row * V),
        sampled(static_cast<int32_t*>(args.Pointer(11)) + row) {}

  GLM_FN bool Valid() const { return at[0] >= 0; }
  GLM_FN float Real(int word) const { return FromBits(uint32_t(slot[word])); }
  GLM_FN bool Greedy() const { return slot[kScale] == 0; }
  GLM_FN uint32_t TopP() const { return uint32_t(slot[kTopP]); }
  GLM_FN int64_t TopK() const { return slot[kTopK]; }

  // The logit after the penalties.
  GLM_FN float Logit(int64_t id) const {
    const float v = logits[id];
    if (slot[kPenalties] == 0) return v;
    const uint32_t count = uint32_t(slot[kCounts + id]);
    if (count == 0) return v;
    const uint32_t made = count & 0x7fffffffu;
    const float less =
        made > 0 ? Fused(Real(kFrequency), float(made), Real(kPresence)) : 0.0f;
    return Fused(v, Real(v > 0.0f ? kInverse : kRepetition), -less);
  }

  GLM_FN uint64_t Item(int64_t id) const {
    const float v = Logit(id) + 0.0f;  // -0 becomes +0
    const uint32_t bits = Bits(v);
    const uint32_t key = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
    if (v != v || bits == 0x7f800000u) return kBadItem;
    if (bits == 0xff800000u) return kNoItem;
    return uint64_t(key) << 32 | (0xffffffffu - uint32_t(id));
  }

  GLM_FN uint64_t Weight(int64_t id, float most) const {
    return FixedExp2(Logit(id) - most, Real(kScale));
  }

  template <class Block>
  GLM_FN uint64_t Best(Block& block) const {
    return LargestItem(block, parts, [&](int64_t i) { return best[i]; });
  }

  // Lighter tokens cannot be among those of top_p: all of them together weigh
  // less than what top_p leaves out. A top_k needs all that have a weight.
  GLM_FN uint64_t LeastDrawn() const {
    if (TopK() > 0) return 1;
    const uint64_t least = (uint64_t(kWhole - TopP()) << 16) / uint64_t(V);
    return least > 1 ? least : 1;
  }

  // A number in [0, total) that the slot's seed and the position decide.
  GLM_FN uint64_t Draw(uint64_t total) const {
    const uint64_t seed =
        uint64_t(uint32_t(slot[kSeed + 1])) << 32 | uint32_t(slot[kSeed]);
    uint64_t z = seed + (uint64_t(uint32_t(at[1])) + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    const uint64_t random = (z ^ (z >> 31)) >> 32;
    return (total >> 32) * random + ((total & 0xffffffffu) * random >> 32);
  }

  GLM_FN void Count(int64_t id) const {
    if (slot[kPenalties] != 0) slot[kCounts + id] += 1;
  }
};

}  // namespace glm::kernel
