// short_conv.h - causal depthwise convolution over the rows of a sequence.
//
// Grid: columns, S, ceil(N / 64). A block has C / columns channels, at most
// 256, of 64 tokens of one sequence; rows before the step come from the state,
// zeros at position 0. The state is the first tokens' blocks' alone.
//
// Arguments: seqs, N, T, S, x XT [T, C], w WT [C, kernel], state base, stride
// (slot: XT [C, kernel-1], oldest first), y OT [T, C].
#pragma once

#include "glm/block.h"

namespace glm::kernel {

inline constexpr int64_t kConvTokens = 64;

template <int XT, int WT, int OT, int64_t C, int64_t kernel, int64_t columns,
          class Block>
GLM_FN void ShortConv(Block& block, const Args& args) {
  constexpr int64_t kChannels = CeilDiv(C, columns);
  constexpr int64_t kPast = kernel - 1;
  static_assert(kPast <= kConvTokens, "rows before a block's are x's");
  const Sequences sequences(args);
  const int64_t sequence = block.y;
  const int64_t length = sequences.Length(sequence);
  const int64_t begin = block.z * kConvTokens;
  if (begin >= length) return;
  const int64_t end = Least(begin + kConvTokens, length);
  const void* w = args.Pointer(5);
  void* state = SlotMemory(args, 6, sequences.Slot(sequence));
  const int64_t c0 = block.x * kChannels;
  const int64_t count = Least(kChannels, C - c0);
  const int64_t first = sequence * sequences.tokens * C + c0;
  const void* x = At<XT>(static_cast<const void*>(args.Pointer(4)), first);
  void* y = At<OT>(args.Pointer(8), first);

  // One token: a channel's window is one work-item's.
  if (length == 1) {
    const bool first_token = sequences.Position(sequence) == 0;
    Each(block, count, [&](int64_t c) {
      float window[kernel];
      GLM_UNROLL for (int64_t j = 0; j < kPast; ++j) {
        window[j] = first_token ? 0.0f : Load<XT>(state, (c0 + c) * kPast + j);
      }
      window[kPast] = Load<XT>(x, c);
      float sum = 0.0f;
      GLM_UNROLL for (int64_t j = 0; j < kernel; ++j) {
        sum += Load<WT>(w, (c0 + c) * kernel + j) * window[j];
      }
      Store<OT>(y, c, sum);
      GLM_UNROLL for (int64_t j = 0; j < kPast; ++j) {
        Store<XT>(state, (c0 + c) * kPast + j, window[j + 1]);
      }
    });
    return;
  }

  // 1. Taps and past rows, channels side by side: [kernel][channels],
  //    [kPast][channels].
  GLM_SHARED(float, taps, kernel* kChannels);
  GLM_SHARED(float, past, Most(1, kPast) * kChannels);
  const bool fresh = sequences.Position(sequence) == 0;
  for (int64_t j = 0; j < kernel; ++j) {
    Each(block, count, [&](int64_t c) {
      taps[j * kChannels + c] = Load<WT>(w, (c0 + c) * kernel + j);
    });
  }
  for (int64_t j = 0; begin == 0 && j < kPast; ++j) {
    Each(block, count, [&](int64_t c) {
      past[j * kChannels + c] =
          fresh ? 0.0f : Load<XT>(state, (c0 + c) * kPast + j);
    });
  }
  // Channel c of row t of the step, from the past when t < 0.
  const auto input = [&](int64_t t, int64_t c) {
    return t < 0 ? past[(t + kPast) * kChannels + c] : Load<XT>(x, t * C + c);
  };

  // 2. Outputs, oldest tap first.
  const int64_t apart = begin == 0 ? Least(kPast, end) : begin;
  for (int64_t t = begin; t < apart; ++t) {
    Each(block, count, [&](int64_t c) {
      float sum = 0.0f;
      for (int64_t j = 0; j < kernel; ++j) {
        sum += taps[j * kChannels + c] * input(t - kPast + j, c);
      }
      Store<OT>(y, t * C + c, sum);
    });
  }
  // Of kRun tokens together every row is loaded once.
  const auto run = [&]<int64_t kRun>(int64_t from, int64_t runs) {
    EachOf<kChannels>(block, runs, [&](int64_t i, int64_t c) {
      if (C % columns != 0 && c >= count) return;
      const int64_t t = from + i * kRun;
      float window[kRun + kPast];
      GLM_UNROLL for (int64_t j = 0; j < kRun + kPast; ++j) {
        window[j] = Load<XT>(x, (t - kPast + j) * C + c);
      }
      GLM_UNROLL for (int64_t r = 0; r < kRun; ++r) {
        float sum = 0.0f;
        GLM_UNROLL for (int64_t j = 0; j < kernel; ++j) {
          sum += taps[j * kChannels + c] * window[r + j];
        }
        Store<OT>(y, (t + r) * C + c, sum);
      }
    });
  };
  constexpr int64_t kTogether = 8;
  const int64_t runs = (end - apart) / kTogether;
  run.template operator()<kTogether>(apart, runs);
  run.template operator()<1>(apart + runs * kTogether,
                             end - apart - runs * kTogether);

  // 3. The last kPast rows are the next step's past.
  if (begin > 0) return;
  for (int64_t j = 0; j < kPast; ++j) {
    Each(block, count, [&](int64_t c) {
      Store<XT>(state, (c0 + c) * kPast + j, input(length - kPast + j, c));
    });
  }
}

}  // namespace glm::kernel
