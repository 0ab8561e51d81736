// Random numbers by arithmetic: the same draws for any thread count, batch size or machine.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace penstock {

// Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC'11): ten rounds
// over a counter of 128 bits under a key of 64.
inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53, kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;
inline std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t{kPhiloxMultiplier0} * c[0];
    const uint64_t p1 = uint64_t{kPhiloxMultiplier1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += kPhiloxWeyl0;
    k[1] += kPhiloxWeyl1;
  }
  return c;
}

// A node's own stream of draws: a hash (FNV-1a, 64 bits) of its `random_key`, which is its name
// unless the graph says otherwise.
uint64_t RandomKey(absl::string_view name);

// What a sample's draws depend on besides the node.
struct DrawKey {
  uint64_t seed = 0, epoch = 0, id = 0;
};

// The draws of one node for one sample, in order. Cheap to make; thread-compatible.
class Random {
 public:
  Random(const DrawKey& key, uint64_t random_key);

  uint32_t Bits() {
    if (used_ == 4) {
      block_ = Philox4x32(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }
  // Uniform over [0, n), n > 0, without bias: Lemire, "Fast Random Integer Generation in an
  // Interval" (2019), which rejects the few products that would favour some values.
  int32_t Uniform(int32_t n) {
    const auto range = static_cast<uint32_t>(n);
    uint64_t product = uint64_t{Bits()} * range;
    if (static_cast<uint32_t>(product) < range) {
      const uint32_t threshold = (0U - range) % range;
      while (static_cast<uint32_t>(product) < threshold) product = uint64_t{Bits()} * range;
    }
    return static_cast<int32_t>(product >> 32);
  }
  // Uniform over [0, 1): 53 random bits.
  double Uniform01() {
    const uint64_t high = Bits();
    return static_cast<double>((high << 32 | Bits()) >> 11) * 0x1p-53;
  }
  // Uniform over [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform01(); }

 private:
  friend class NodeDraws;
  // `block`: what the counter before this one gives.
  Random(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter,
         std::array<uint32_t, 4> block)
      : key_(key), counter_(counter), block_(block), used_(0) {}

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  // Of block_.
};

// The draws of one node in one epoch, for many samples at a time: what they have in common is
// worked out once, and their first blocks together. Thread-safe.
class NodeDraws {
 public:
  NodeDraws(uint64_t seed, uint64_t epoch, uint64_t random_key);

  // Calls `use(i, random)` for each of `ids`, where `random` is Random({seed, epoch, ids[i]},
  // random_key), as long as it returns true.
  template <class Use>
  void ForEach(absl::Span<const int64_t> ids, Use use) const {
    for (size_t tile = 0; tile < ids.size(); tile += kTile) {
      const auto some = ids.subspan(tile, kTile);
      Blocks blocks;
      FirstBlocks(some, blocks);
      for (size_t i = 0; i < some.size(); ++i) {
        Random random = Of(static_cast<uint64_t>(some[i]), blocks, i);
        if (!use(tile + i, random)) return;
      }
    }
  }

 private:
  static constexpr size_t kTile = 64;
  struct Blocks {
    uint32_t word[4][kTile];
  };
  // Ids of 2^32 and more are left to Of().
  void FirstBlocks(absl::Span<const int64_t> ids, Blocks& blocks) const;
  void FirstBlocksAvx512(absl::Span<const int64_t> ids, Blocks& blocks) const;
  Random Of(uint64_t id, const Blocks& blocks, size_t i) const {
    if (id >> 32 != 0) return Random({seed_, epoch_, id}, random_key_);
    return Random(key_, {1, static_cast<uint32_t>(id), counter_[2], counter_[3]},
                  {blocks.word[0][i], blocks.word[1][i], blocks.word[2][i], blocks.word[3][i]});
  }

  uint64_t seed_, epoch_, random_key_;
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;  // Of sample 0.
};

}  // namespace penstock
