#include "penstock/stages/decode/jpeg_cuda/jpeg_descriptor.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"

namespace penstock {
namespace {

using Bytes = std::vector<std::byte>;
using Colour = JpegSample::Colour;

// The place of the marker FF `second`; of its data's length.
size_t Find(const Bytes& file, int second) {
  for (size_t i = 2; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] == static_cast<std::byte>(second)) return i;
  }
  ADD_FAILURE() << "no marker " << second;
  return 0;
}

Bytes Of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

void Insert(Bytes& file, size_t at, const Bytes& bytes) {
  file.insert(file.begin() + static_cast<ptrdiff_t>(at), bytes.begin(), bytes.end());
}

// What libjpeg reads of the header must be what the descriptor says.
void ExpectAsLibjpeg(const Bytes& file, const std::string& name) {
  JpegDescriptor got;
  JpegHeader expected;
  ASSERT_TRUE(DescribeJpeg(file, got)) << name;
  ASSERT_TRUE(ReadJpegHeader(file, expected)) << name;
  EXPECT_EQ(got.width, expected.width) << name;
  EXPECT_EQ(got.height, expected.height) << name;
  EXPECT_EQ(got.components, expected.components) << name;
  EXPECT_EQ(got.restart_interval, expected.restart_interval) << name;
  EXPECT_EQ(got.is_ycc != 0, expected.is_ycc) << name;
  EXPECT_EQ(got.components == 1 ? 1 : expected.h, got.h) << name;
  EXPECT_EQ(got.components == 1 ? 1 : expected.v, got.v) << name;
  EXPECT_EQ(got.row_group, got.components == 1 ? expected.v : 1) << name;
}

TEST(JpegDescriptorTest, ReadsWhatLibjpegReads) {
  constexpr int kSamplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
  for (const auto& sampling : kSamplings) {
    for (const Colour colour : {Colour::kGray, Colour::kYcc, Colour::kRgb}) {
      for (const int interval : {0, 1, 77}) {
        const JpegSample sample{.width = 65,
                                .height = 47,
                                .colour = colour,
                                .h = sampling[0],
                                .v = sampling[1],
                                .restart_interval = interval};
        ExpectAsLibjpeg(MakeJpeg(sample), sample.ToString());
      }
    }
  }
}

TEST(JpegDescriptorTest, PointsAtTablesAndScan) {
  const Bytes file = MakeJpeg({});
  JpegDescriptor d;
  ASSERT_TRUE(DescribeJpeg(file, d));
  const size_t sos = Find(file, 0xDA);
  EXPECT_EQ(d.scan, sos + 2 + 12);
  EXPECT_EQ(d.scan_bytes, file.size() - 2 - d.scan);
  EXPECT_EQ(d.mcu_blocks, 6);
  EXPECT_EQ(d.pair_mask, 0b110000);
  EXPECT_EQ(d.period, 6);
  EXPECT_EQ(d.wide_tables, 0);
  const size_t dqt = Find(file, 0xDB), dht = Find(file, 0xC4);
  EXPECT_EQ(d.quantisation[0], dqt + 5);
  EXPECT_NE(d.quantisation[1], d.quantisation[0]);
  EXPECT_EQ(d.quantisation[2], d.quantisation[1]);
  EXPECT_EQ(d.huffman[0], dht + 5);
  // The standard's tables of luma: 12 sizes, then 162 values.
  EXPECT_EQ(file[d.huffman[0] + 16 + 11], std::byte{11});
  EXPECT_EQ(file[d.huffman[1] + 16], std::byte{1});
  EXPECT_EQ(file[d.huffman[1] + 16 + 161], std::byte{0xFA});
}

TEST(JpegDescriptorTest, EqualTablesAreOnePair) {
  Bytes file = MakeJpeg({});
  JpegDescriptor before, after;
  ASSERT_TRUE(DescribeJpeg(file, before));
  // All components use the tables of luma: they are one pair.
  const size_t sos = Find(file, 0xDA);
  file[sos + 8] = file[sos + 10] = std::byte{0x00};
  ASSERT_TRUE(DescribeJpeg(file, after));
  EXPECT_EQ(after.pair_mask, 0);
  EXPECT_EQ(after.period, 1);
  EXPECT_EQ(after.huffman[2], after.huffman[0]);
  EXPECT_EQ(after.huffman[3], after.huffman[1]);
  EXPECT_NE(after.tables_hash, before.tables_hash);
  // Two of the components' DC tables, the third a new pair: three.
  file[sos + 8] = std::byte{0x01};
  file[sos + 10] = std::byte{0x10};
  EXPECT_FALSE(DescribeJpeg(file, after));
}

TEST(JpegDescriptorTest, TakesTheLastOfTablesDefinedTwice) {
  Bytes file = MakeJpeg({});
  JpegDescriptor before, after;
  ASSERT_TRUE(DescribeJpeg(file, before));
  const size_t sos = Find(file, 0xDA), dht = Find(file, 0xC4);
  const size_t length =
      2 + (std::to_integer<size_t>(file[dht + 2]) << 8) + std::to_integer<size_t>(file[dht + 3]);
  const Bytes table(file.begin() + dht, file.begin() + dht + length);
  Insert(file, sos, table);
  ASSERT_TRUE(DescribeJpeg(file, after));
  EXPECT_EQ(after.huffman[0], sos + 5);
  EXPECT_EQ(after.tables_hash, before.tables_hash);
  EXPECT_EQ(after.scan, before.scan + length);
}

TEST(JpegDescriptorTest, PassesOverFillBytesAndForeignSegments) {
  Bytes file = MakeJpeg({});
  Insert(file, 2, Of({0xFF, 0xFF, 0xFF}));
  Insert(file, 2, Of({0xFF, 0xE5, 0, 6, 0xFF, 0xDA, 0xFF, 0xD8}));
  Insert(file, 2, Of({0xFF, 0xFE, 0, 2}));
  Insert(file, 2, Of({0xFF, 0x01}));
  ExpectAsLibjpeg(file, "fill bytes");
}

// JFIF's marker says YCC, else Adobe's transform, else the components' ids.
TEST(JpegDescriptorTest, ColoursAreChosenAsLibjpegDoes) {
  Bytes plain = MakeJpeg({});
  const size_t app0 = Find(plain, 0xE0);
  const Bytes jfif(plain.begin() + app0, plain.begin() + app0 + 18);
  plain.erase(plain.begin() + app0, plain.begin() + app0 + 18);
  const auto with_ids = [&](int a, int b, int c) {
    Bytes file = plain;
    const size_t sof = Find(file, 0xC0), sos = Find(file, 0xDA);
    const int ids[] = {a, b, c};
    for (int i = 0; i < 3; ++i) {
      file[sof + 10 + 3 * i] = file[sos + 5 + 2 * i] = static_cast<std::byte>(ids[i]);
    }
    return file;
  };
  const auto adobe = [](int transform) {
    return Of({0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, transform});
  };
  const std::vector<Bytes> files = {with_ids(1, 2, 3), with_ids('R', 'G', 'B'), with_ids(0, 1, 2),
                                    with_ids('R', 'G', 'X'), with_ids(7, 9, 8)};
  for (const Bytes& file : files) {
    ExpectAsLibjpeg(file, "ids");
    for (const int transform : {0, 1, 2, 77}) {
      Bytes marked = file;
      Insert(marked, 2, adobe(transform));
      ExpectAsLibjpeg(marked, "Adobe");
      Insert(marked, 2, adobe(0));
      ExpectAsLibjpeg(marked, "Adobe twice");
      Insert(marked, 2, jfif);
      ExpectAsLibjpeg(marked, "JFIF and Adobe");
      marked[5] = std::byte{8};  // Too short for libjpeg to be JFIF's.
      marked.erase(marked.begin() + 12, marked.begin() + 20);
      ExpectAsLibjpeg(marked, "short JFIF");
    }
  }
}

TEST(JpegDescriptorTest, RefusesWhatTheDecoderDoesNotTake) {
  const Bytes file = MakeJpeg({});
  const size_t sof = Find(file, 0xC0), sos = Find(file, 0xDA), dqt = Find(file, 0xDB),
               dht = Find(file, 0xC4);
  struct Patch {
    const char* name;
    size_t at;
    int value;
  };
  const Patch patches[] = {{"no SOI", 0, 0},
                           {"progressive", sof + 1, 0xC2},
                           {"lossless", sof + 1, 0xC3},
                           {"arithmetic", sof + 1, 0xC9},
                           {"12 bits", sof + 4, 12},
                           {"two components", sof + 9, 2},
                           {"chroma of 2x1", sof + 14, 0x21},
                           {"luma of 3x1", sof + 11, 0x31},
                           {"luma of 0x1", sof + 11, 0x01},
                           {"no such quantisation table", sof + 12, 3},
                           {"no quantisation table 16", sof + 12, 16},
                           {"the same id twice", sof + 13, 1},
                           {"a scan of one component", sos + 4, 1},
                           {"components in another order", sos + 5, 2},
                           {"no such Huffman table", sos + 6, 0x22},
                           {"spectral selection", sos + 12, 62},
                           {"approximation", sos + 13, 1},
                           {"a table of 17 bits", dqt + 4, 0x20},
                           {"quantisation table 4", dqt + 4, 4},
                           {"Huffman table 4", dht + 4, 4},
                           {"a code of ones", dht + 5, 2},
                           {"too many values", dht + 20, 255},
                           {"a DC value of 16 bits", dht + 21, 16}};
  JpegDescriptor d;
  ASSERT_TRUE(DescribeJpeg(file, d));
  for (const Patch& patch : patches) {
    Bytes patched = file;
    patched[patch.at] = static_cast<std::byte>(patch.value);
    EXPECT_FALSE(DescribeJpeg(patched, d)) << patch.name;
  }
  Bytes empty = file;
  empty[sof + 5] = empty[sof + 6] = std::byte{0};
  EXPECT_FALSE(DescribeJpeg(empty, d)) << "height 0";
  Bytes twice = file;
  Insert(twice, sos, Bytes(file.begin() + sof, file.begin() + sof + 19));
  EXPECT_FALSE(DescribeJpeg(twice, d)) << "two frames";
  for (size_t bytes = 0; bytes < d.scan; ++bytes) {
    EXPECT_FALSE(DescribeJpeg({file.data(), bytes}, d)) << bytes;
  }
}

// Each file lies in memory of its exact size, so that a sanitizer sees what is read beyond. What is
// taken, libjpeg takes too, with the same header.
TEST(JpegDescriptorTest, RandomDamageIsRefusedOrReadAsLibjpegDoes) {
  // The same draws in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937 random(3);
  const Bytes files[] = {MakeJpeg({}), MakeJpeg({.colour = Colour::kGray, .optimised = true}),
                         MakeJpeg({.colour = Colour::kRgb, .h = 4, .v = 1, .restart_interval = 5})};
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes file = files[i % 3];
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
      file[random() % 620] = static_cast<std::byte>(random());
    }
    if (i % 5 == 0) file.resize(random() % file.size());
    file.shrink_to_fit();
    JpegDescriptor d;
    if (!DescribeJpeg(file, d)) continue;
    ++taken;
    ASSERT_LE(uint64_t{d.scan} + d.scan_bytes, file.size());
    ExpectAsLibjpeg(file, "damaged");
  }
  EXPECT_GT(taken, 1000);
  EXPECT_LT(taken, 19000);
}

}  // namespace
}  // namespace penstock
