#include "penstock/stages/random.h"

#include <immintrin.h>

#include <algorithm>
#include <iterator>

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

__attribute__((target_clones("avx2", "default"))) void NodeDraws::FirstBlocks(
    absl::Span<const int64_t> ids, Blocks& blocks) const {
  if (__builtin_cpu_supports("avx512f") != 0) return FirstBlocksAvx512(ids, blocks);
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::array<uint32_t, 4> block =
        Philox4x32({0, static_cast<uint32_t>(ids[i]), counter_[2], counter_[3]}, key_);
    for (size_t word = 0; word < block.size(); ++word) blocks.word[word][i] = block[word];
  }
}

// Philox4x32() of eight counters at a time, each word in the lower half of a lane: what a product
// leaves in the upper half is never looked at. From the loop above GCC 12 makes vectors of three
// multiplications and some shuffles for each of these.
__attribute__((target("avx512f"))) void NodeDraws::FirstBlocksAvx512(absl::Span<const int64_t> ids,
                                                                     Blocks& blocks) const {
  constexpr size_t kLanes = 8;
  static_assert(kTile % kLanes == 0);
  const __m512i multiplier0 = _mm512_set1_epi64(kPhiloxMultiplier0);
  const __m512i multiplier1 = _mm512_set1_epi64(kPhiloxMultiplier1);
  for (size_t i = 0; i < ids.size(); i += kLanes) {
    const size_t lanes = std::min(kLanes, ids.size() - i);
    const auto present = static_cast<__mmask8>((1U << lanes) - 1);
    __m512i c0 = _mm512_setzero_si512();
    __m512i c1 = _mm512_maskz_loadu_epi64(present, ids.data() + i);
    __m512i c2 = _mm512_set1_epi64(counter_[2]), c3 = _mm512_set1_epi64(counter_[3]);
    std::array<uint32_t, 2> key = key_;
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const __m512i p0 = _mm512_mul_epu32(c0, multiplier0), p1 = _mm512_mul_epu32(c2, multiplier1);
      const __m512i k0 = _mm512_set1_epi64(key[0]), k1 = _mm512_set1_epi64(key[1]);
      c0 = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p1, 32), c1), k0);
      c2 = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p0, 32), c3), k1);
      c1 = p1;
      c3 = p0;
      key[0] += kPhiloxWeyl0;
      key[1] += kPhiloxWeyl1;
    }
    const __m512i block[] = {c0, c1, c2, c3};
    for (size_t word = 0; word < std::size(block); ++word) {
      auto* to = reinterpret_cast<__m256i*>(blocks.word[word] + i);
      _mm256_storeu_si256(to, _mm512_cvtepi64_epi32(block[word]));
    }
  }
}

}  // namespace penstock
