#include "penstock/stages/decode/jpeg_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "penstock/stages/decode/testdata/references.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Decodes with a decoder of its own. What lies around the pixels must stay as it is.
absl::Status Decode(const std::string& file, const Region& region, std::vector<uint8_t>& pixels,
                    JpegDecoder* decoder = nullptr) {
  constexpr size_t kGuard = 64;
  const size_t bytes = static_cast<size_t>(region.area()) * 3;
  std::vector<uint8_t> memory(bytes + 2 * kGuard, 0xCD);
  JpegDecoder own;
  absl::Status status =
      (decoder != nullptr ? *decoder : own).Decode(AsBytes(file), region, memory.data() + kGuard);
  for (size_t i = 0; i < kGuard; ++i) {
    EXPECT_EQ(memory[i], 0xCD);
    EXPECT_EQ(memory[kGuard + bytes + i], 0xCD);
  }
  pixels.assign(memory.begin() + kGuard, memory.begin() + kGuard + bytes);
  return status;
}

absl::Status StatusOf(const std::string& name, Region region = {}) {
  const std::string file = ReadReference(name);
  if (region.empty()) {
    const absl::StatusOr<ImageSize> size = ReadJpegSize(AsBytes(file));
    if (!size.ok()) return size.status();
    region = Region::Whole(*size);
  }
  std::vector<uint8_t> pixels;
  return Decode(file, region, pixels);
}

std::string MessageOf(const std::string& name) { return std::string(StatusOf(name).message()); }

TEST(JpegDecoderTest, WholeImagesEqualTheReference) {
  const std::vector<std::string> names = DecodableReferences(".jpg");
  ASSERT_GT(names.size(), 150u);
  for (const std::string& name : names) {
    const std::string file = ReadReference(name);
    const Picture expected = ReadPicture(name);
    const absl::StatusOr<ImageSize> size = ReadJpegSize(AsBytes(file));
    ASSERT_TRUE(size.ok()) << name << ": " << size.status();
    EXPECT_EQ(*size, expected.size) << name;
    std::vector<uint8_t> pixels;
    const absl::Status status = Decode(file, Region::Whole(expected.size), pixels);
    ASSERT_TRUE(status.ok()) << name << ": " << status;
    EXPECT_TRUE(pixels == expected.pixels) << name;
  }
}

TEST(JpegDecoderTest, PartsEqualPartsOfTheWhole) {
  // The same draws in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937 random(1);
  const auto draw = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (const std::string& name : DecodableReferences(".jpg")) {
    const std::string file = ReadReference(name);
    const Picture whole = ReadPicture(name);
    for (int i = 0; i < 60; ++i) {
      Region region;
      region.y = draw(0, whole.size.height - 1);
      region.x = draw(0, whole.size.width - 1);
      region.height = draw(1, whole.size.height - region.y);
      region.width = draw(1, i % 3 == 0 ? 1 : whole.size.width - region.x);
      std::vector<uint8_t> pixels;
      const absl::Status status = Decode(file, region, pixels);
      ASSERT_TRUE(status.ok()) << name << ": " << status;
      ASSERT_TRUE(pixels == whole.Part(region))
          << name << " y " << region.y << " x " << region.x << " height " << region.height
          << " width " << region.width;
    }
  }
}

TEST(JpegDecoderTest, EachRowAndColumnByItself) {
  for (const char* name : {"tall.jpg", "s_2x2_130x99.jpg", "s_2x1_130x99.jpg"}) {
    const std::string file = ReadReference(name);
    const Picture whole = ReadPicture(name);
    std::vector<uint8_t> pixels;
    for (int y = 0; y < whole.size.height; ++y) {
      const Region row{y, 0, 1, whole.size.width};
      ASSERT_TRUE(Decode(file, row, pixels).ok());
      ASSERT_TRUE(pixels == whole.Part(row)) << name << " row " << y;
    }
    for (int x = 0; x < whole.size.width; ++x) {
      const Region column{0, x, whole.size.height, 1};
      ASSERT_TRUE(Decode(file, column, pixels).ok());
      ASSERT_TRUE(pixels == whole.Part(column)) << name << " column " << x;
    }
  }
}

// A gray file whose header says 2x2: libjpeg once cropped the wrong columns.
TEST(JpegDecoderTest, QuadrantsOfGray) {
  for (const char* name : {"gray_1x1.jpg", "gray_2x2.jpg", "gray_2x1.jpg"}) {
    const std::string file = ReadReference(name);
    const Picture whole = ReadPicture(name);
    for (const auto& [y, x] : {std::pair(0, 0), {0, 32}, {32, 0}, {32, 32}}) {
      std::vector<uint8_t> pixels;
      ASSERT_TRUE(Decode(file, {y, x, 32, 32}, pixels).ok());
      EXPECT_TRUE(pixels == whole.Part({y, x, 32, 32})) << name << " " << y << " " << x;
    }
  }
}

TEST(JpegDecoderTest, FourComponentsBecomeTheColoursTheyPrint) {
  for (const char* name : {"cmyk_red.jpg", "cmyk_red_no_adobe.jpg"}) {
    std::vector<uint8_t> pixels;
    ASSERT_TRUE(Decode(ReadReference(name), {3, 3, 1, 1}, pixels).ok());
    EXPECT_THAT(pixels, testing::ElementsAre(255, 0, 0)) << name;
  }
  std::vector<uint8_t> pixels;
  const std::vector<std::vector<int>> printed = {
      {0, 255, 255}, {255, 0, 255}, {255, 255, 0}, {164, 134, 103}, {0, 0, 0}};
  for (size_t patch = 0; patch < printed.size(); ++patch) {
    const Region middle{16, static_cast<int>(patch) * 32 + 16, 1, 1};
    ASSERT_TRUE(Decode(ReadReference("ycck.jpg"), middle, pixels).ok());
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(pixels[c], printed[patch][c], 3) << patch;
  }
}

TEST(JpegDecoderTest, NothingOfOneFileReachesTheNext) {
  JpegDecoder decoder;
  std::vector<uint8_t> pixels;
  const auto expect_exact = [&](const std::string& name) {
    const Picture expected = ReadPicture(name);
    const absl::Status status =
        Decode(ReadReference(name), Region::Whole(expected.size), pixels, &decoder);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(pixels == expected.pixels) << name;
  };
  expect_exact("s_2x2_130x99.jpg");
  expect_exact("s_2x2_progressive.jpg");
  expect_exact("s_1x1_5x5.jpg");
  // Files without tables of their own do not get those of the file before.
  for (const char* name : {"refused_no_tables.jpg", "refused_no_codes.jpg"}) {
    const absl::Status before = StatusOf(name);
    expect_exact("s_2x2_61x45.jpg");
    const absl::Status after = Decode(ReadReference(name), Region{0, 0, 45, 61}, pixels, &decoder);
    EXPECT_EQ(before, after) << name;
  }
  EXPECT_THAT(MessageOf("refused_no_tables.jpg"), HasSubstr("Quantization table"));
  EXPECT_FALSE(Decode(ReadReference("damaged_half.jpg"), {0, 0, 64, 64}, pixels, &decoder).ok());
  expect_exact("s_2x2_61x45.jpg");
}

TEST(JpegDecoderTest, TruncatedFilesAreNamedSo) {
  for (const char* name : {"damaged_half.jpg", "damaged_header.jpg", "damaged_scan_missing.jpg",
                           "damaged_scan_cut.jpg"}) {
    const absl::Status status = StatusOf(name);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << name;
    const std::string bytes = std::to_string(ReadReference(name).size()) + " bytes";
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("truncated"), HasSubstr(bytes)));
  }
}

TEST(JpegDecoderTest, DamageIsAnErrorInLibjpegsWords) {
  EXPECT_THAT(MessageOf("damaged_marker.jpg"), HasSubstr("premature end of data segment"));
  EXPECT_THAT(MessageOf("damaged_no_rst1.jpg"), HasSubstr("found marker 0xd9 instead of RST1"));
  EXPECT_THAT(MessageOf("damaged_rst7.jpg"), HasSubstr("found marker 0xd7 instead of RST0"));
  // In the middle of much data, where libjpeg's fast way would pass over it.
  EXPECT_THAT(MessageOf("damaged_bad_code.jpg"), HasSubstr("bad Huffman code, in row"));
  EXPECT_THAT(MessageOf("damaged_rst7.jpg"), HasSubstr("in row 2 of 3 of MCUs"));
}

TEST(JpegDecoderTest, DamageBelowTheRegionDoesNotCount) {
  const Picture clean = ReadPicture("clean.jpg");
  std::vector<uint8_t> pixels;
  for (const char* name : {"damaged_half.jpg", "damaged_marker.jpg"}) {
    const std::string file = ReadReference(name);
    int good_rows = 0;
    while (good_rows < 64 && Decode(file, {0, 0, good_rows + 1, 64}, pixels).ok()) ++good_rows;
    // Interpolation draws on the next row of MCUs: 15 rows are good where 16 were read whole.
    EXPECT_EQ(good_rows % 16, 15) << name;
    EXPECT_LT(good_rows, 48) << name;
    ASSERT_TRUE(Decode(file, {3, 5, good_rows - 3, 50}, pixels).ok());
    EXPECT_TRUE(pixels == clean.Part({3, 5, good_rows - 3, 50})) << name;
    EXPECT_FALSE(Decode(file, {good_rows, 0, 1, 64}, pixels).ok()) << name;
  }
}

TEST(JpegDecoderTest, RefusedByTheirHeaders) {
  EXPECT_THAT(MessageOf("refused_12_bits.jpg"), HasSubstr("precision 12"));
  EXPECT_THAT(MessageOf("refused_lossless.jpg"), HasSubstr("SOF type 0xc3"));
  EXPECT_EQ(StatusOf("refused_lossless.jpg").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(StatusOf("refused_12_bits.jpg").code(), absl::StatusCode::kUnimplemented);
}

TEST(JpegDecoderTest, ManyScansEndSoon) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(MessageOf("bomb_scans.jpg"), HasSubstr("more than 500 scans"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace penstock
