// What host and device compute alike: work and memory of images, tables and states.
#include "penstock/stages/decode/jpeg_cuda/jpeg_geometry.h"

#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_batch.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_decoder_cuda.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"

namespace penstock {
namespace {

JpegDescriptor Describe(int width, int height, int h, int v, uint32_t restart_interval,
                        uint32_t scan_bytes) {
  JpegDescriptor d;
  d.width = width;
  d.height = height;
  d.components = 3;
  d.h = static_cast<uint8_t>(h);
  d.v = static_cast<uint8_t>(v);
  d.mcu_blocks = static_cast<uint8_t>(h * v + 2);
  d.period = d.mcu_blocks;
  d.restart_interval = restart_interval;
  d.scan_bytes = scan_bytes;
  return d;
}

TEST(JpegGeometryTest, WholeImage) {
  const JpegDescriptor d = Describe(500, 375, 2, 2, 0, 48000);
  const JpegGeometry g = GeometryOf(d, {0, 0, 375, 500});
  EXPECT_EQ(g.mcus_across, 32);
  EXPECT_EQ(g.mcu_rows, 24);
  EXPECT_EQ(g.mcus, 768U);
  EXPECT_EQ(g.segments, 1U);
  EXPECT_EQ(g.luma_stride, 512);
  EXPECT_EQ(g.chroma_stride, 256);
  EXPECT_EQ(g.plane_bytes, 768U * 6 * 64);
  EXPECT_EQ(g.groups, 24U);
  EXPECT_EQ(g.chunks, 12U);
  EXPECT_EQ(g.subsequences, 1502U);
  EXPECT_EQ(g.sync_blocks, 2U);
  EXPECT_EQ(g.last_damage_row, 23);
}

TEST(JpegGeometryTest, RegionTakesTheRowBelowOnlyIfItDrawsOnIt) {
  const JpegDescriptor d = Describe(500, 375, 2, 2, 0, 48000);
  // Rows up to 30, whose chroma row 15 draws on row 14; up to 31, on row 16.
  EXPECT_EQ(GeometryOf(d, {0, 0, 31, 500}).last_damage_row, 1);
  EXPECT_EQ(GeometryOf(d, {0, 0, 32, 500}).last_damage_row, 2);
  // Columns of chroma are taken on both sides: 15 and 17, of MCUs 1 and 2.
  const JpegGeometry g = GeometryOf(d, {100, 32, 10, 1});
  EXPECT_EQ(g.first_column, 1);
  EXPECT_EQ(g.end_column, 3);
  EXPECT_EQ(g.first_row, 6);
  EXPECT_EQ(g.end_row, 7);
  EXPECT_EQ(g.luma.first_x, 4);
  EXPECT_EQ(g.luma.last_x, 4);
  EXPECT_EQ(g.plane_bytes, 2U * 6 * 64);
}

TEST(JpegGeometryTest, RowsOfMcusThatLibjpegTakesTogether) {
  JpegDescriptor d = Describe(100, 100, 1, 1, 0, 1000);
  d.components = d.mcu_blocks = 1;
  d.row_group = 2;
  EXPECT_EQ(GeometryOf(d, {0, 0, 8, 100}).last_damage_row, 1);
  EXPECT_EQ(GeometryOf(d, {0, 0, 17, 100}).last_damage_row, 3);
  EXPECT_EQ(GeometryOf(d, {0, 0, 100, 100}).last_damage_row, 12);
}

TEST(JpegScratchTest, PartsCoverAnyBatch) {
  // The same draws in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const int count = static_cast<int>(random() % 40);
    JpegTotals totals;
    size_t parts = JpegCallScratchBytes(count + static_cast<int>(random() % 3));
    for (int i = 0; i < count; ++i) {
      constexpr int kSamplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
      const auto& sampling = kSamplings[random() % 5];
      const int width = 1 + static_cast<int>(random() % 5000);
      const int height = 1 + static_cast<int>(random() % 4000);
      const JpegDescriptor d = Describe(width, height, sampling[0], sampling[1], random() % 3,
                                        static_cast<uint32_t>(random() % 3000000));
      Region region;
      region.y = static_cast<int32_t>(random() % height);
      region.x = static_cast<int32_t>(random() % width);
      region.height = 1 + static_cast<int32_t>(random() % (height - region.y));
      region.width = 1 + static_cast<int32_t>(random() % (width - region.x));
      totals.Add(GeometryOf(d, region));
      parts += JpegImageScratchBytes(d, region);
    }
    const size_t bytes = PlanScratch(totals, nullptr).bytes;
    EXPECT_LE(bytes, parts);
    EXPECT_EQ(bytes % kScratchAlignment, 0U);  // What is behind begins there.
  }
}

TEST(JpegScratchTest, ArraysDoNotOverlap) {
  JpegTotals totals;
  totals.Add(GeometryOf(Describe(500, 375, 2, 2, 1, 48000), {0, 0, 375, 500}));
  totals.Add(GeometryOf(Describe(1, 1, 1, 1, 0, 10), {0, 0, 1, 1}));
  std::vector<std::byte> memory(PlanScratch(totals, nullptr).bytes);
  const JpegBatch batch = PlanScratch(totals, memory.data());
  EXPECT_EQ(reinterpret_cast<std::byte*>(batch.words), memory.data());
  EXPECT_EQ(memory.data() + batch.zero_bytes, reinterpret_cast<std::byte*>(batch.images));
  EXPECT_GE(reinterpret_cast<std::byte*>(batch.contents),
            reinterpret_cast<std::byte*>(batch.words + totals.subsequences * kSubsequenceWords));
  EXPECT_EQ(memory.data() + batch.bytes, memory.data() + memory.size());
  EXPECT_GE(memory.data() + memory.size(),
            batch.plane_memory + totals.plane_bytes + 2 * kPlaneGuard);
}

// The rest of a call's memory is the caller's.
TEST(JpegScratchTest, CallTellsWhereItsMemoryEnds) {
  alignas(kScratchAlignment) std::byte memory[1 << 14];
  JpegDecoded decoded;
  ASSERT_EQ(EnqueueJpegPlanes({}, memory, nullptr, decoded), cudaSuccess);
  EXPECT_EQ(decoded.end, memory + PlanScratch({}, nullptr).bytes);
  EXPECT_LE(decoded.end, memory + JpegCallScratchBytes(0));
}

// The file's scan without stuffing, as words.
std::vector<uint32_t> Words(const std::vector<std::byte>& file, const JpegDescriptor& d) {
  std::vector<uint32_t> words;
  uint32_t word = 0;
  int bytes = 0;
  for (uint32_t i = 0; i < d.scan_bytes; ++i) {
    const auto byte = std::to_integer<uint32_t>(file[d.scan + i]);
    if (i > 0 && byte == 0 && file[d.scan + i - 1] == std::byte{0xFF}) continue;
    word |= byte << (24 - 8 * bytes);
    if (++bytes == 4) {
      words.push_back(word);
      word = 0;
      bytes = 0;
    }
  }
  if (bytes > 0) words.push_back(word);
  return words;
}

// Following all subsequences one after the other comes to the number of blocks that there are; and
// from a wrong beginning to the same states after a while.
TEST(JpegEntropyTest, FindsAllBlocksAndSynchronises) {
  for (const bool optimised : {false, true}) {
    for (const auto content : {JpegSample::Content::kHills, JpegSample::Content::kNoise}) {
      const auto file = MakeJpeg(
          {.width = 500, .height = 375, .quality = 90, .optimised = optimised, .content = content});
      JpegDescriptor d;
      ASSERT_TRUE(DescribeJpeg(file, d));
      HuffmanTable tables[4] = {};
      JpegTables lookup;
      CanonicalTable canonical[4];
      for (int kind = 0; kind < 4; ++kind) {
        std::memcpy(tables[kind].counts, &file[d.huffman[kind]], 16);
        int values = 0;
        for (const uint8_t count : tables[kind].counts) values += count;
        std::memcpy(tables[kind].values, &file[d.huffman[kind] + 16], values);
        MakeCanonical(tables[kind], canonical[kind]);
        std::memcpy(canonical[kind].values, tables[kind].values, sizeof tables[kind].values);
      }
      for (int kind = 0; kind < 4; ++kind) {
        for (int i = 0; i < kSyncIndices; ++i) {
          lookup.sync[kind][i] =
              TableEntry(tables[kind], kind % 2 != 0, tables[kind | 1], i, kSyncIndexBits) &
              kSyncEntryMask;
        }
      }
      for (int pair = 0; pair < 2; ++pair) {
        for (int i = 0; i < kSyncLongCodes; ++i) {
          lookup.sync_long[pair][i] = LongEntry(tables[2 * pair + 1], 0x10000 - kSyncLongCodes + i);
        }
      }
      std::vector<uint32_t> words = Words(file, d);
      const size_t size = words.size();
      words.resize(size + kSubsequenceWords);
      const SyncTables sync{lookup.sync[0], canonical, d.pair_mask, d.period};
      uint32_t state = 0, blocks = 0;
      uint32_t guessed = 0;
      size_t agreed_at = 0;
      for (size_t at = 0; at < size; at += kSubsequenceWords) {
        const int count = static_cast<int>(std::min<size_t>(kSubsequenceWords, size - at));
        const uint32_t result = FollowSubsequence({&words[at], 1, 0}, count, state, sync);
        state = result & kStateMask;
        blocks += result >> kStateCountShift;
        if (at == 0) continue;  // The guess begins with the second.
        guessed = FollowSubsequence({&words[at], 1, 0}, count, guessed, sync) & kStateMask;
        if (guessed != state) agreed_at = at;
      }
      // Bits that fill up the last byte may look like more blocks, but not like many.
      EXPECT_GE(blocks, 768U * 6);
      EXPECT_LE(blocks, 768U * 6 + 8);
      EXPECT_LT(agreed_at, size / 2);
    }
  }
}

}  // namespace
}  // namespace penstock
