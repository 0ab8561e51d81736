// Random numbers by arithmetic: the same draws for any thread count, batch size or machine.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC'11): ten rounds
// over a counter of 128 bits under a key of 64.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

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

  uint32_t Bits();
  // Uniform over [0, n), n > 0, without bias.
  int32_t Uniform(int32_t n);
  // Uniform over [0, 1): 53 random bits.
  double Uniform01();
  // Uniform over [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform01(); }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  // Of block_.
};

}  // namespace penstock
