// Random numbers by arithmetic: the same draws for any thread count, batch size or machine.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC'11): ten rounds
// over a counter of 128 bits under a key of 64.
inline std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p0 = uint64_t{kMultiplier0} * c[0], p1 = uint64_t{kMultiplier1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
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
  // Uniform over [0, n), n > 0, without bias.
  int32_t Uniform(int32_t n);
  // Uniform over [0, 1): 53 random bits.
  double Uniform01();
  // Uniform over [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform01(); }

 private:
  friend class NodeDraws;
  Random(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter)
      : key_(key), counter_(counter) {}

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  // Of block_.
};

// The draws of one node in one epoch: what their Randoms have in common, worked out once.
// Thread-safe.
class NodeDraws {
 public:
  NodeDraws(uint64_t seed, uint64_t epoch, uint64_t random_key)
      : key_{seed, epoch, 0}, random_key_(random_key), first_(key_, random_key) {}
  // As Random({seed, epoch, id}, random_key).
  Random Of(uint64_t id) const {
    if (id >> 32 != 0) return Random({key_.seed, key_.epoch, id}, random_key_);
    std::array<uint32_t, 4> counter = first_.counter_;
    counter[1] = static_cast<uint32_t>(id);
    return Random(first_.key_, counter);
  }

 private:
  DrawKey key_;
  uint64_t random_key_;
  Random first_;  // Of sample 0.
};

}  // namespace penstock
