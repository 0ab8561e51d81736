// The order of a shuffled epoch by arithmetic.
#pragma once

#include <array>
#include <cstdint>

#include "absl/types/span.h"

namespace penstock {

// Version of the permutation below; a saved state names it, and another one is refused.
inline constexpr int kOrderVersion = 2;

// A permutation of [0, size) in O(1) memory, a pure function of its arguments: a Feistel network
// over the next even power of two (at least 2^8), walked until it falls into the range (Black and
// Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). A round is the 32-bit finalizer of
// MurmurHash3 under a key drawn by Philox. Trivially copyable; const calls are thread-safe.
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, uint64_t epoch);
  int64_t operator()(int64_t position) const;  // 0 <= position < size.
  // The same for positions first, first + 1, ...; several times as fast.
  void Map(int64_t first, absl::Span<int64_t> out) const;

 private:
  static constexpr int kRounds = 6;
  uint64_t Encrypt(uint64_t value) const;
  int64_t size_;
  int half_bits_;
  std::array<uint32_t, kRounds> keys_;
};

}  // namespace penstock
