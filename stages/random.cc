#include "penstock/stages/random.h"

namespace penstock {
namespace {

constexpr uint32_t Low(uint64_t v) { return static_cast<uint32_t>(v); }
constexpr uint32_t High(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

}  // namespace

uint64_t RandomKey(absl::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

// Seed and node together are the Philox key (hashed by Philox itself, so that neighbouring seeds
// have nothing in common); id and epoch are the counter's upper words, its lowest counts the
// blocks.
Random::Random(const DrawKey& key, uint64_t random_key) {
  const std::array<uint32_t, 4> mixed =
      Philox4x32({Low(random_key), High(random_key), High(key.id), High(key.epoch)},
                 {Low(key.seed), High(key.seed)});
  key_ = {mixed[0], mixed[1]};
  counter_ = {0, Low(key.id), Low(key.epoch), mixed[2]};
}

// Lemire, "Fast Random Integer Generation in an Interval" (2019): rejects the few products that
// would favour some values.
int32_t Random::Uniform(int32_t n) {
  const auto range = static_cast<uint32_t>(n);
  uint64_t product = uint64_t{Bits()} * range;
  if (Low(product) < range) {
    const uint32_t threshold = (0U - range) % range;
    while (Low(product) < threshold) product = uint64_t{Bits()} * range;
  }
  return static_cast<int32_t>(product >> 32);
}

double Random::Uniform01() {
  const uint64_t high = Bits();
  return static_cast<double>((high << 32 | Bits()) >> 11) * 0x1p-53;
}

}  // namespace penstock
