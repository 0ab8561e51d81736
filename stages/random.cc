#include "penstock/stages/random.h"

namespace penstock {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr uint32_t Low(uint64_t v) { return static_cast<uint32_t>(v); }
constexpr uint32_t High(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p0 = uint64_t{kMultiplier0} * c[0], p1 = uint64_t{kMultiplier1} * c[2];
    c = {High(p1) ^ c[1] ^ k[0], Low(p1), High(p0) ^ c[3] ^ k[1], Low(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

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

uint32_t Random::Bits() {
  if (used_ == 4) {
    block_ = Philox4x32(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
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
