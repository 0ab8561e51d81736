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

NodeDraws::NodeDraws(uint64_t seed, uint64_t epoch, uint64_t random_key)
    : seed_(seed), epoch_(epoch), random_key_(random_key) {
  const Random first({seed, epoch, 0}, random_key);
  key_ = first.key_;
  counter_ = first.counter_;
}

// The compiler makes a form for each width of vectors, and the machine's is chosen when the program
// starts. Ids of 2^32 and more are left to Of().
__attribute__((target_clones("avx512f", "avx2", "default"))) void NodeDraws::FirstBlocks(
    absl::Span<const int64_t> ids, Blocks& blocks) const {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::array<uint32_t, 4> block =
        Philox4x32({0, static_cast<uint32_t>(ids[i]), counter_[2], counter_[3]}, key_);
    blocks.word[0][i] = block[0];
    blocks.word[1][i] = block[1];
    blocks.word[2][i] = block[2];
    blocks.word[3][i] = block[3];
  }
}

}  // namespace penstock
