#include "penstock/stages/order/permutation.h"

#include <algorithm>
#include <bit>

#include "penstock/stages/random.h"

namespace penstock {
namespace {

// Fewer would leave so few different rounds that small data sets are shuffled unevenly.
constexpr int kMinHalfBits = 4;
constexpr size_t kTile = 256;  // Values at a time.

constexpr uint32_t Mix(uint32_t v) {
  v = (v ^ v >> 16) * 0x85EBCA6B;
  v = (v ^ v >> 13) * 0xC2B2AE35;
  return v ^ v >> 16;
}

constexpr uint32_t Low(uint64_t v) { return static_cast<uint32_t>(v); }
constexpr uint32_t High(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

// Permutation::Encrypt() of many values below 2^32, without a dependency between them. The compiler
// makes a form for each width of vectors, and the machine's is chosen when the program starts.
__attribute__((target_clones("avx512f", "avx2", "default"))) void EncryptAll(
    const std::array<uint32_t, 6>& keys, int half_bits, uint32_t* values, size_t count) {
  const uint32_t mask = (uint32_t{1} << half_bits) - 1;
  const auto [k0, k1, k2, k3, k4, k5] = keys;
  for (size_t i = 0; i < count; ++i) {
    uint32_t left = values[i] >> half_bits, right = values[i] & mask;
    left ^= Mix(right ^ k0) & mask;
    right ^= Mix(left ^ k1) & mask;
    left ^= Mix(right ^ k2) & mask;
    right ^= Mix(left ^ k3) & mask;
    left ^= Mix(right ^ k4) & mask;
    right ^= Mix(left ^ k5) & mask;
    values[i] = left << half_bits | right;
  }
}

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t epoch) : size_(size) {
  const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(size, 2) - 1));
  half_bits_ = std::max((bits + 1) / 2, kMinHalfBits);
  for (uint32_t round = 0; round < kRounds; ++round) {
    keys_[round] = Philox4x32({Low(epoch), High(epoch), static_cast<uint32_t>(half_bits_), round},
                              {Low(seed), High(seed)})[0];
  }
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  const uint32_t mask = Low((uint64_t{1} << half_bits_) - 1);
  uint32_t left = Low(value >> half_bits_), right = Low(value) & mask;
  for (const uint32_t key : keys_) {
    const uint32_t mixed = left ^ (Mix(right ^ key) & mask);
    left = right;
    right = mixed;
  }
  return uint64_t{left} << half_bits_ | right;
}

int64_t Permutation::operator()(int64_t position) const {
  auto value = static_cast<uint64_t>(position);
  do {
    value = Encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

void Permutation::Map(int64_t first, absl::Span<int64_t> out) const {
  if (2 * half_bits_ >= 32) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = (*this)(first + static_cast<int64_t>(i));
    return;
  }
  const auto size = static_cast<uint32_t>(size_);
  for (size_t tile = 0; tile < out.size(); tile += kTile) {
    uint32_t values[kTile], walking[kTile];
    size_t at[kTile];  // Where in the tile the values that still walk belong.
    const size_t count = std::min(kTile, out.size() - tile);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(first + tile + i);
    EncryptAll(keys_, half_bits_, values, count);
    size_t left = 0;
    for (size_t i = 0; i < count; ++i) {
      at[left] = i;
      left += values[i] >= size ? 1 : 0;
    }
    while (left > 0) {
      for (size_t i = 0; i < left; ++i) walking[i] = values[at[i]];
      EncryptAll(keys_, half_bits_, walking, left);
      const size_t walked = left;
      left = 0;
      for (size_t i = 0; i < walked; ++i) {
        const size_t place = at[i];
        values[place] = walking[i];
        at[left] = place;
        left += walking[i] >= size ? 1 : 0;
      }
    }
    std::copy_n(values, count, out.data() + tile);
  }
}

}  // namespace penstock
