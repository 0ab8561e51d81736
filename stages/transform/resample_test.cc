// Resampling against Pillow's own results, byte for byte.
#include "penstock/stages/transform/resample.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/stages/transform/references.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

const References& Refs() {
  static const auto* references = new References("resize_references.bin");
  return *references;
}

struct Method {
  const char* name;
  Interpolation interpolation;
  bool antialias = true;
};
constexpr Method kMethods[] = {{"bilinear", BILINEAR},
                               {"bicubic", BICUBIC},
                               {"nearest", NEAREST},
                               {"two_taps", BILINEAR, false}};

// The region `part` of the result, out of the input that it needs and no byte more.
TestImage Resample(Resampler& resampler, const TestImage& image, const Resampling& resampling,
                   const Region& part) {
  const Region needed = ResampleInput(resampling, part);
  EXPECT_EQ(needed, needed.ClippedTo(image.size()));
  const TestImage in = image.Part(needed);
  TestImage out = TestImage::Make(part, image.channels);
  Scratch scratch;
  SampleContext context(nullptr, &scratch);
  resampler.Run(resampling, in.view(), out.view(), context);
  return out;
}

class ResampleMethod : public testing::TestWithParam<Method> {
 protected:
  Resampling Of(const TestImage& image, ImageSize size) const {
    return {Region::Whole(image.size()), size, GetParam().interpolation, GetParam().antialias};
  }
  Resampler resampler_;
};

TEST_P(ResampleMethod, WholeImagesEqualTheReference) {
  int cases = 0;
  for (; Refs().has(absl::StrCat("resize/", cases, "/case")); ++cases) {
    const std::string prefix = absl::StrCat("resize/", cases, "/");
    const TestImage image = TestImage::From(Refs().at(prefix + "in"));
    const TestImage expected = TestImage::From(Refs().at(prefix + GetParam().name));
    const TestImage result =
        Resample(resampler_, image, Of(image, expected.size()), Region::Whole(expected.size()));
    EXPECT_TRUE(result.bytes == expected.bytes)
        << image.size().height << "x" << image.size().width << " to " << expected.size().height
        << "x" << expected.size().width << ", channels " << image.channels;
  }
  EXPECT_GT(cases, 150);
}

TEST_P(ResampleMethod, RegionsEqualTheirPartOfTheWhole) {
  Random random({}, 1);
  for (int k = 0; Refs().has(absl::StrCat("resize/", k, "/case")); ++k) {
    const std::string prefix = absl::StrCat("resize/", k, "/");
    const TestImage image = TestImage::From(Refs().at(prefix + "in"));
    const TestImage expected = TestImage::From(Refs().at(prefix + GetParam().name));
    for (int i = 0; i < 4; ++i) {
      Region part;
      part.y = random.Uniform(expected.size().height);
      part.x = random.Uniform(expected.size().width);
      part.height = 1 + random.Uniform(expected.size().height - part.y);
      part.width = 1 + random.Uniform(expected.size().width - part.x);
      const TestImage result = Resample(resampler_, image, Of(image, expected.size()), part);
      ASSERT_TRUE(result.bytes == expected.Part(part).bytes) << prefix << " " << i;
    }
  }
}

// As torchvision crops first and resizes then.
TEST_P(ResampleMethod, NothingOutsideTheBoxCounts) {
  const TestImage image = TestImage::From(Refs().at("resize/8/in"));
  const Region box = {31, 17, 90, 120};
  const TestImage cut = image.Part(box);
  TestImage moved = cut;
  moved.region = {0, 0, box.height, box.width};
  const ImageSize size = {50, 40};
  Resampling resampling = {box, size, GetParam().interpolation, GetParam().antialias};
  const TestImage in_place = Resample(resampler_, image, resampling, Region::Whole(size));
  const TestImage alone = Resample(resampler_, moved, Of(moved, size), Region::Whole(size));
  EXPECT_TRUE(in_place.bytes == alone.bytes);
}

INSTANTIATE_TEST_SUITE_P(All, ResampleMethod, testing::ValuesIn(kMethods),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ResampleInput, IsExact) {
  // Of 941 items 94.1 make one of 10; the filter reaches over two of those.
  const Resampling tall = {{0, 0, 941, 3}, {10, 3}};
  EXPECT_EQ(ResampleInput(tall, {0, 0, 1, 3}), (Region{0, 0, 141, 3}));
  EXPECT_EQ(ResampleInput(tall, {5, 1, 1, 2}), (Region{423, 1, 189, 2}));
  EXPECT_EQ(ResampleInput(tall, {9, 0, 1, 3}), (Region{800, 0, 141, 3}));
  // Enlarged twice: two taps, whose weights are 1/4 and 3/4.
  const Resampling larger = {{100, 200, 10, 10}, {20, 20}};
  EXPECT_EQ(ResampleInput(larger, {3, 4, 2, 1}), (Region{101, 201, 2, 2}));
  const Resampling nearest = {{0, 0, 100, 100}, {10, 10}, NEAREST};
  EXPECT_EQ(ResampleInput(nearest, {2, 3, 2, 1}), (Region{25, 35, 11, 1}));
  EXPECT_TRUE(ResampleInput(nearest, {}).empty());
}

TEST(Resample, CheckerboardTurnsGrey) {
  const TestImage board = TestImage::From(Refs().at("checkerboard/in"));
  const TestImage expected = TestImage::From(Refs().at("checkerboard/bilinear"));
  Resampler resampler;
  Resampling resampling = {Region::Whole(board.size()), {32, 32}};
  const TestImage grey = Resample(resampler, board, resampling, Region::Whole({32, 32}));
  EXPECT_EQ(grey.bytes, expected.bytes);
  for (uint8_t item : grey.bytes) EXPECT_TRUE(item == 127 || item == 128) << int{item};
}

TEST(Resample, NearestPicksPillowsItems) {
  const ReferenceArray& table = Refs().at("nearest");
  for (int64_t row = 0; row < table.shape[0]; ++row) {
    const uint8_t* expected = table.bytes.data() + row * table.shape[1];
    const ImageSize in = {1, expected[0]}, out = {1, expected[1]};
    TestImage image = TestImage::Make(Region::Whole(in), 1);
    for (int i = 0; i < in.width; ++i) image.bytes[i] = static_cast<uint8_t>(i);
    Resampler resampler;
    const TestImage result =
        Resample(resampler, image, {Region::Whole(in), out, NEAREST}, Region::Whole(out));
    EXPECT_TRUE(std::equal(result.bytes.begin(), result.bytes.end(), expected + 2))
        << in.width << " to " << out.width;
  }
}

// More sizes than the cache holds, twice: entries are replaced and found again.
TEST(Resample, CachedTablesAreThoseOfTheSize) {
  TestImage image = TestImage::Make({0, 0, 40, 40}, 3);
  for (size_t i = 0; i < image.bytes.size(); ++i) image.bytes[i] = static_cast<uint8_t>(i * 7919);
  Resampler shared;
  for (int round = 0; round < 2; ++round) {
    for (int32_t size = 10; size < 30; ++size) {
      const Resampling resampling = {Region::Whole(image.size()), {size, size + round}};
      Resampler fresh;
      const Region whole = Region::Whole(resampling.size);
      EXPECT_TRUE(Resample(shared, image, resampling, whole).bytes ==
                  Resample(fresh, image, resampling, whole).bytes);
    }
  }
}

}  // namespace
}  // namespace penstock
