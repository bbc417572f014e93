// copy_rows.h - the rows that find_rows lists, from the host's memory into
// their slots (docs/spec/paging.md).
//
// Grid: kCopyBlocks, each of which copies its part of every row. No block waits
// for another one: for the host only, which needs no block in turn but for the
// rows that are more than the ring has places; the last block to end fetches
// those alone.
//
// Of each weight of each row that moves, the blocks count up a number of
// `arrivals` when they have stored their part: kCopyBlocks says that all is
// there, for those who wait while rows behind it are still under way.
//
// Arguments: seqs, N, T, moves I32 [1 + 2 M], pager, arrivals I32 [E, weights].
#pragma once

#include "glm/pager.h"

namespace glm::kernel {

typedef uint32_t Copied __attribute__((ext_vector_type(4)));

#ifndef GLM_GPU

// Part `part` of `parts` of a row, whose bytes are a multiple of 4096.
GLM_FN void CopyPart(Block& block, const void* from, void* to, int64_t bytes,
                     int64_t part, int64_t parts) {
  const int64_t all = bytes / int64_t(sizeof(Copied));
  const int64_t first = all * part / parts;
  const Copied* source = static_cast<const Copied*>(from) + first;
  Copied* slot = static_cast<Copied*>(to) + first;
  Each(block, all * (part + 1) / parts - first,
       [&](int64_t i) { slot[i] = source[i]; });
}

// Part `part` of `parts` of `count` rows of which source(j) is not 0;
// arrived(j, w) when this block's part of weight w of it is in its slot, whose
// last byte is before end(w).
template <class Source, class Slot, class End, class Arrived>
GLM_FN void CopyMoves(Block& block, int64_t count, Source source, Slot slot,
                      int64_t bytes, int64_t weights, End, int64_t part,
                      int64_t parts, Arrived arrived) {
  for (int64_t j = 0; j < count; ++j) {
    const uint64_t from = source(j);
    if (from == 0) continue;
    CopyPart(block, Address(from), slot(j), bytes, part, parts);
    for (int64_t w = 0; w < weights; ++w) arrived(j, w);
  }
}

// What this block stored before is seen by who sees the number.
GLM_FN void TellDevice(int32_t* number, int32_t more) {
  __scoped_atomic_fetch_add(number, more, __ATOMIC_RELEASE,
                            __MEMORY_SCOPE_DEVICE);
}

// Waits until the host has served `request`.
GLM_FN void AwaitServed(Doorbell& bell, uint32_t request) {
  while (int32_t(__scoped_atomic_load_n(&bell.served, __ATOMIC_ACQUIRE,
                                        __MEMORY_SCOPE_SYSTEM) -
                 (request + 1)) < 0) {
    __builtin_ia32_pause();
  }
}

// Whether all other blocks have come here; the counter begins and ends at 0.
GLM_FN bool IsLastBlock(uint32_t* counter) {
  const uint32_t before = __scoped_atomic_fetch_add(
      counter, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
  if (before != kCopyBlocks - 1) return false;
  __scoped_atomic_store_n(counter, 0u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  return true;
}

#else

// Loads of a work-item that are under way together: with all blocks 1 MiB.
inline constexpr int kCopiesTogether = 4;

// Part `part` of `parts` of a row, whose bytes are a multiple of 4096.
GLM_FN void CopyPart(Block&, const void* from, void* to, int64_t bytes,
                     int64_t part, int64_t parts) {
  const int64_t all = bytes / int64_t(sizeof(Copied));
  const int64_t stride = parts * kThreads;
  const Copied* source = static_cast<const Copied*>(from);
  Copied* slot = static_cast<Copied*>(to);
#pragma nounroll
  for (int64_t i = part * kThreads + Thread(); i < all;
       i += kCopiesTogether * stride) {
    Copied some[kCopiesTogether];
    GLM_UNROLL for (int j = 0; j < kCopiesTogether; ++j) {
      const int64_t at = i + j * stride;
      if (at < all) some[j] = __builtin_nontemporal_load(source + at);
    }
    GLM_UNROLL for (int j = 0; j < kCopiesTogether; ++j) {
      const int64_t at = i + j * stride;
      if (at < all) slot[at] = some[j];
    }
  }
  Barrier();
}

// Part `part` of `parts` of `count` rows of which source(j) is not 0, seen as
// one sequence: a work-item stores what has come and asks for more at once, so
// that the link never runs dry, at the ends of rows least of all. arrived(j, w)
// when the block's part of weight w is in its slot, whose last byte is before
// end(w). Rows are a multiple of a block's width, so that all work-items are in
// the same one.
template <class Source, class Slot, class End, class Arrived>
GLM_FN void CopyMoves(Block&, int64_t count, Source source, Slot slot,
                      int64_t bytes, int64_t weights, End end, int64_t part,
                      int64_t parts, Arrived arrived) {
  static_assert(4096 % (kThreads * sizeof(Copied)) == 0);
  const int64_t all = bytes / int64_t(sizeof(Copied));
  const int64_t stride = parts * kThreads;
  const auto follow = [&](int64_t& move) GLM_INLINE {  // the next that is here
    uint64_t from = 0;
    while (from == 0 && ++move < count) from = source(move);
    return from;
  };

  // What the block has stored: the first element behind it, and its weight.
  int64_t stored_move = -1, stored = all + part * kThreads;
  int64_t weight = weights;
  const auto tell = [&]() GLM_INLINE {
    while (true) {
      for (;
           weight < weights && stored * int64_t(sizeof(Copied)) >= end(weight);
           ++weight) {
        Barrier();
        arrived(stored_move, weight);
      }
      if (weight < weights || follow(stored_move) == 0) return;
      stored -= all;
      weight = 0;
    }
  };

  const Copied* row = nullptr;
  Copied* to = nullptr;
  int64_t move = -1;
  int64_t at = all + part * kThreads + Thread();
  Copied some[kCopiesTogether];
  Copied* place[kCopiesTogether];  // null: nothing comes
  const auto ask = [&](int j) GLM_INLINE {
    place[j] = nullptr;
    while (at >= all) {
      const uint64_t from = follow(move);
      if (from == 0) return;
      row = static_cast<const Copied*>(Address(from));
      to = static_cast<Copied*>(slot(move));
      at -= all;
    }
    some[j] = __builtin_nontemporal_load(row + at);
    place[j] = to + at;
    at += stride;
  };
  GLM_UNROLL for (int j = 0; j < kCopiesTogether; ++j) ask(j);
  tell();
  bool more = true;
#pragma nounroll
  while (more) {
    more = false;
    GLM_UNROLL for (int j = 0; j < kCopiesTogether; ++j) {
      if (place[j] == nullptr) continue;
      *place[j] = some[j];
      ask(j);
      more |= place[j] != nullptr;
      stored += stride;
      tell();
    }
  }
  Barrier();
}

// What the block stored before a barrier is seen by who sees the number.
GLM_FN void TellDevice(int32_t* number, int32_t more) {
  if (Thread() != 0) return;
  ReleaseToDevice();
  __scoped_atomic_fetch_add(number, more, __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_DEVICE);
}

// Waits until the host has served `request`.
GLM_FN void AwaitServed(Doorbell& bell, uint32_t request) {
  if (Thread() == 0) {
    while (int32_t(__scoped_atomic_load_n(&bell.served, __ATOMIC_RELAXED,
                                          __MEMORY_SCOPE_SYSTEM) -
                   (request + 1)) < 0) {
      Pause();
    }
  }
  Barrier();
  AcquireFromHost();
}

// Whether all other blocks have come here; the counter begins and ends at 0.
GLM_FN bool IsLastBlock(uint32_t* counter) {
  GLM_SHARED(int, is_last, 1);
  Barrier();
  if (Thread() == 0) {
    ReleaseToDevice();
    is_last[0] = CountUp(counter) == kCopyBlocks - 1;
    if (is_last[0]) ClearCounter(counter);
    AcquireForBlock();
  }
  Barrier();
  AcquireFromDevice();
  return Uniform(is_last[0]) != 0;
}

#endif  // GLM_GPU

template <int64_t E, int64_t top_k, int64_t weights, class Block>
GLM_FN void CopyRows(Block& block, const Args& args) {
  constexpr bool kFits = E <= kScratchWords;
  GLM_SHARED(int32_t, own_asked, kFits ? 1 : E);
  // Moves that the host is asked for.
  int32_t* asked = kFits ? ScratchWords() : own_asked;
  const int32_t* moves = static_cast<const int32_t*>(args.Pointer(3));
  Pager& pager = *static_cast<Pager*>(args.Pointer(4));
  int32_t* arrivals = static_cast<int32_t*>(args.Pointer(5));

  // 1. Rows that the host has in its memory.
  const int64_t count = moves[0];
  const uint64_t* sources = ArrayAt<uint64_t>(pager.sources);
  const int64_t bytes = int64_t(pager.row_bytes);
  const auto slot = [&](int64_t j) {
    return Address(pager.slots + uint32_t(moves[2 + 2 * j]) * pager.row_bytes);
  };
  const auto arrival = [&](int64_t j, int64_t w) {
    return arrivals + uint32_t(moves[1 + 2 * j]) % uint32_t(E) * weights + w;
  };
  CopyMoves(
      block, count, [&](int64_t j) { return sources[moves[1 + 2 * j]]; }, slot,
      bytes, weights,
      [&](int64_t w) {
        return w + 1 < weights ? int64_t(pager.offsets[(w + 1) * pager.pieces])
                               : bytes;
      },
      block.x, kCopyBlocks,
      [&](int64_t j, int64_t w) { TellDevice(arrival(j, w), 1); });

  // 2. Rows that it was asked for, as many as it stages together.
  if (pager.bell == 0) return;
  int64_t from = 0;
  const int64_t asks = Compact(
      block, from, count, count,
      [&](int64_t j) { return sources[moves[1 + 2 * j]] == 0; }, asked);
  if (asks == 0) return;
  Doorbell& bell = *ArrayAt<Doorbell>(pager.bell);
  const uint32_t first = pager.asked - uint32_t(asks);
  const auto copy = [&](int64_t k, int64_t part, int64_t parts) {
    const uint32_t request = first + uint32_t(k);
    AwaitServed(bell, request);
    CopyPart(block, Address(bell.StagedAt(request, pager.row_bytes)),
             slot(asked[k]), bytes, part, parts);
    for (int64_t w = 0; w < weights; ++w) {
      TellDevice(arrival(asked[k], w), int32_t(kCopyBlocks / parts));
    }
  };
  const int64_t together = Least(asks, bell.ring);
  for (int64_t k = 0; k < together; ++k) copy(k, block.x, kCopyBlocks);

  // 3. The others, for which the ring must be free again.
  if (!IsLastBlock(&pager.arrived)) return;
  int64_t told = together;
  for (int64_t k = together; k < asks; ++k) {
    const int64_t end = Least(k + bell.ring, asks);
    Each<1>(block, [&](int64_t, int64_t) {
      TellHost(&bell.taken, first + uint32_t(k));
      AskHost(bell, first, told, end,
              [&](int64_t i) { return uint32_t(moves[1 + 2 * asked[i]]); });
    });
    told = end;
    copy(k, 0, 1);
  }
  Each<1>(block, [&](int64_t, int64_t) {
    TellHost(&bell.taken, first + uint32_t(asks));
  });
}

}  // namespace glm::kernel
