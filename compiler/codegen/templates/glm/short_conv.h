// short_conv.h - causal depthwise convolution over the rows of a sequence.
//
// Grid: columns, S. A block owns C / columns channels, at most 256, of one
// sequence; its rows before the step come from the state, zeros at position 0.
//
// Arguments: seqs, N, T, S, x XT [T, C], w WT [C, kernel], state base, stride
// (slot: XT [C, kernel-1], oldest first), y OT [T, C].
#pragma once

#include "glm/block.h"

namespace glm::kernel {

template <int XT, int WT, int OT, int64_t C, int64_t kernel, int64_t columns,
          class Block>
GLM_FN void ShortConv(Block& block, const Args& args) {
  constexpr int64_t kChannels = CeilDiv(C, columns);
  constexpr int64_t kPast = kernel - 1;
  const Sequences sequences(args);
  const int64_t sequence = block.y;
  const int64_t length = sequences.Length(sequence);
  if (length == 0) return;
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
        window[j] =
            first_token ? 0.0f : Load<XT>(state, (c0 + c) * kPast + j);
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
  for (int64_t j = 0; j < kPast; ++j) {
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
  for (int64_t t = 0; t < length; ++t) {
    if (t >= kPast) {
      Each(block, count, [&](int64_t c) {
        float sum = 0.0f;
#pragma unroll
        for (int64_t j = 0; j < kernel; ++j) {
          sum += taps[j * kChannels + c] * Load<XT>(x, (t - kPast + j) * C + c);
        }
        Store<OT>(y, t * C + c, sum);
      });
    } else {
      Each(block, count, [&](int64_t c) {
        float sum = 0.0f;
        for (int64_t j = 0; j < kernel; ++j) {
          sum += taps[j * kChannels + c] * input(t - kPast + j, c);
        }
        Store<OT>(y, t * C + c, sum);
      });
    }
  }

  // 3. The last kPast rows are the next step's past.
  for (int64_t j = 0; j < kPast; ++j) {
    Each(block, count, [&](int64_t c) {
      Store<XT>(state, (c0 + c) * kPast + j, input(length - kPast + j, c));
    });
  }
}

}  // namespace glm::kernel
