#include "penstock/stages/decode/png_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "penstock/stages/decode/testdata/references.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// What lies around the pixels must stay as it is.
absl::Status Decode(const std::string& file, const Region& region, std::vector<uint8_t>& pixels) {
  constexpr size_t kGuard = 64;
  const size_t bytes = static_cast<size_t>(region.area()) * 3;
  std::vector<uint8_t> memory(bytes + 2 * kGuard, 0xCD);
  PngDecoder decoder;
  absl::Status status = decoder.Decode(AsBytes(file), region, memory.data() + kGuard);
  for (size_t i = 0; i < kGuard; ++i) {
    EXPECT_EQ(memory[i], 0xCD);
    EXPECT_EQ(memory[kGuard + bytes + i], 0xCD);
  }
  pixels.assign(memory.begin() + kGuard, memory.begin() + kGuard + bytes);
  return status;
}

absl::Status StatusOf(const std::string& name) {
  const std::string file = ReadReference(name);
  const absl::StatusOr<ImageSize> size = ReadPngSize(AsBytes(file));
  if (!size.ok()) return size.status();
  std::vector<uint8_t> pixels;
  return Decode(file, Region::Whole(*size), pixels);
}

TEST(PngDecoderTest, WholeImagesEqualTheReference) {
  const std::vector<std::string> names = DecodableReferences(".png");
  ASSERT_GT(names.size(), 150u);
  for (const std::string& name : names) {
    const std::string file = ReadReference(name);
    const Picture expected = ReadPicture(name);
    const absl::StatusOr<ImageSize> size = ReadPngSize(AsBytes(file));
    ASSERT_TRUE(size.ok()) << name << ": " << size.status();
    EXPECT_EQ(*size, expected.size) << name;
    std::vector<uint8_t> pixels;
    const absl::Status status = Decode(file, Region::Whole(expected.size), pixels);
    ASSERT_TRUE(status.ok()) << name << ": " << status;
    EXPECT_TRUE(pixels == expected.pixels) << name;
  }
}

TEST(PngDecoderTest, PartsEqualPartsOfTheWhole) {
  // The same draws in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937 random(1);
  const auto draw = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (const std::string& name : DecodableReferences(".png")) {
    const std::string file = ReadReference(name);
    const Picture whole = ReadPicture(name);
    for (int i = 0; i < 20; ++i) {
      Region region;
      region.y = draw(0, whole.size.height - 1);
      region.x = draw(0, whole.size.width - 1);
      region.height = draw(1, whole.size.height - region.y);
      region.width = draw(1, whole.size.width - region.x);
      std::vector<uint8_t> pixels;
      const absl::Status status = Decode(file, region, pixels);
      ASSERT_TRUE(status.ok()) << name << ": " << status;
      ASSERT_TRUE(pixels == whole.Part(region)) << name;
    }
  }
}

// The high byte is kept, as libpng's strip_16 does; Pillow would clip to 255.
TEST(PngDecoderTest, SixteenBitsLoseTheLowByte) {
  std::vector<uint8_t> pixels;
  ASSERT_TRUE(Decode(ReadReference("strip16.png"), {0, 0, 1, 5}, pixels).ok());
  EXPECT_THAT(pixels,
              testing::ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 128, 128, 128, 255, 255, 255));
}

TEST(PngDecoderTest, AlphaIsDropped) {
  std::vector<uint8_t> pixels;
  ASSERT_TRUE(Decode(ReadReference("alpha_dropped.png"), {0, 0, 1, 2}, pixels).ok());
  EXPECT_THAT(pixels, testing::ElementsAre(10, 10, 10, 200, 200, 200));
}

TEST(PngDecoderTest, TruncatedFilesAreNamedSo) {
  for (const char* name : {"damaged_half_one.png", "damaged_half_small.png",
                           "damaged_last_idat_cut_one.png", "damaged_last_idat_cut_small.png"}) {
    const absl::Status status = StatusOf(name);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << name;
    const std::string bytes = std::to_string(ReadReference(name).size()) + " bytes";
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("truncated"), HasSubstr(bytes)));
  }
  EXPECT_THAT(std::string(ReadPngSize(AsBytes("\x89PNG\r\n\x1A\nabcdefg")).status().message()),
              HasSubstr("truncated: the end of 15 bytes"));
}

TEST(PngDecoderTest, WrongChecksumsAreErrors) {
  for (const char* name : {"damaged_crc_one.png", "damaged_crc_small.png"}) {
    EXPECT_THAT(std::string(StatusOf(name).message()), HasSubstr("CRC")) << name;
  }
  // Also where the checksum stands in a chunk of its own, behind the last row.
  for (const char* name : {"damaged_adler_one.png", "damaged_adler_apart.png"}) {
    EXPECT_THAT(std::string(StatusOf(name).message()), HasSubstr("incorrect data check")) << name;
  }
}

TEST(PngDecoderTest, OtherDamage) {
  EXPECT_THAT(std::string(StatusOf("damaged_short.png").message()),
              AnyOf(HasSubstr("Not enough image data"), HasSubstr("Not enough compressed data")));
  EXPECT_EQ(StatusOf("damaged_window.png").code(), absl::StatusCode::kDataLoss);
}

TEST(PngDecoderTest, DamageBelowTheRegionDoesNotCount) {
  const Picture clean = ReadPicture("clean_small.png");
  for (const char* name : {"damaged_half_small.png", "damaged_crc_one.png"}) {
    std::vector<uint8_t> pixels;
    ASSERT_TRUE(Decode(ReadReference(name), {3, 5, 10, 20}, pixels).ok()) << name;
    EXPECT_TRUE(pixels == clean.Part({3, 5, 10, 20})) << name;
  }
}

}  // namespace
}  // namespace penstock
