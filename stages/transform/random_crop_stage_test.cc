#include "penstock/stages/transform/random_crop_stage.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using Runner = StageRunner<RandomCropStage>;

FieldSpec AnyImage() { return FieldSpec::Image("image", {}); }

std::string Refused(const std::string& more, const FieldSpec& input = AnyImage()) {
  return Refusal<RandomCropStage>("height: 8 width: 8 " + more, input);
}

TEST(RandomCropStage, RefusesBadOptions) {
  EXPECT_EQ(Refusal<RandomCropStage>("height: 8"), "width is not set, expected 1 to 65535");
  EXPECT_EQ(Refused("padding: -1"), "padding is -1, expected 0 to 65535");
  EXPECT_EQ(Refused("padding: [1, 70000]"), "padding is 70000, expected 0 to 65535");
  EXPECT_THAT(Refused("padding: [1, 2, 3]"), HasSubstr("padding has 3 numbers, expected 1"));
  EXPECT_THAT(Refused("padding: [1, 2, 3, 4, 5]"), HasSubstr("padding has 5 numbers"));
  EXPECT_EQ(Refused("fill: 256"), "fill is 256, expected 0 to 255");
  EXPECT_EQ(Refused("fill: -1"), "fill is -1, expected 0 to 255");
  EXPECT_THAT(Refused("fill: [1, 2]"), HasSubstr("fill has 2 values for 3 channels"));
  EXPECT_THAT(Refused("fill: [1, 2, 3, 4, 5]"), HasSubstr("fill has 5 values"));
  EXPECT_THAT(Refused("padding_mode: 9"), HasSubstr("padding_mode is 9, expected CONSTANT"));
  EXPECT_THAT(Refused("", FieldSpec::Encoded("image")), HasSubstr("put DecodeImage before it"));
}

TEST(RandomCropStage, AnImageTooSmallIsAnErrorThatNamesBothSizes) {
  const auto runner = Runner::Create("height: 32 width: 30 padding: 1", AnyImage());
  ASSERT_TRUE(runner.ok());
  ImageSize size = {29, 100};
  const auto params = runner->Resolve(size);
  EXPECT_EQ(params.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(params.status().message(),
            "an image of height 29, width 100 (padded: height 31, width 102) is smaller than the "
            "crop of height 32, width 30; set pad_if_needed, or put Resize before");
  // Known before the run: the graph is at fault.
  EXPECT_THAT(Refused("", FieldSpec::Image("image", {7, 9})),
              HasSubstr("height 7, width 9 is smaller than the crop of height 8, width 8"));
  EXPECT_EQ(Refused("padding: 1", FieldSpec::Image("image", {7, 9})), "OK");
}

std::string CropOptions(const int64_t* numbers, const std::string& mode) {
  const std::vector<int64_t> padding(numbers + 4, numbers + 8), fill(numbers + 8, numbers + 11);
  return absl::StrCat("height: ", numbers[2], " width: ", numbers[3], " padding: [",
                      absl::StrJoin(padding, ","), "] fill: [", absl::StrJoin(fill, ","),
                      "] pad_if_needed: true padding_mode: ", absl::AsciiStrToUpper(mode));
}

// Every mode, paddings up to several times the image, and pad_if_needed on top: each crop is the
// one of the image as numpy pads it, at the place that was drawn.
TEST(RandomCropStage, CropsThePaddedImage) {
  const References references("crop_references.bin");
  int k = 0;
  for (const char* mode : {"constant", "edge", "reflect", "symmetric"}) {
    const int first = k;
    for (; references.has(absl::StrCat("padded_crop/", k, "/", mode)); ++k) {
      const auto numbers = references.at(absl::StrCat("padded_crop/", k, "/", mode)).as<int64_t>();
      const TestImage image =
          TestImage::From(references.at(absl::StrCat("padded_crop/", k, "/in")));
      const TestImage padded =
          TestImage::From(references.at(absl::StrCat("padded_crop/", k, "/padded")));
      const std::string options = CropOptions(numbers.data(), mode);
      auto runner = Runner::Create(options, AnyImage());
      ASSERT_TRUE(runner.ok()) << runner.status();
      for (uint64_t id = 0; id < 12; ++id) {
        ImageSize size = image.size();
        const auto params = runner->Resolve(size, {.id = id});
        ASSERT_TRUE(params.ok()) << params.status();
        const Region crop = {params->y, params->x, size.height, size.width};
        ASSERT_EQ(crop, crop.ClippedTo(padded.size())) << options;
        const auto result = runner->Process(*params, image, Region::Whole(size));
        ASSERT_TRUE(result.ok()) << result.status();
        ASSERT_EQ(result->bytes, padded.Part(crop).bytes) << options;
        const Region part = Region{1, 2, 3, 4}.ClippedTo(size);
        const auto region = runner->Process(*params, image, part);
        ASSERT_EQ(region->bytes, result->Part(part).bytes) << options;
        EXPECT_TRUE(!runner->stage().IsIdentity(*params) || result->bytes == image.bytes);
      }
    }
    EXPECT_EQ(k - first, 40) << mode;
  }
}

TEST(RandomCropStage, PaddingIsInTorchvisionsOrder) {
  // An image of one pixel: what the crop covers shows on which side the padding is.
  const auto places = [](const char* padding) {
    const auto runner =
        Runner::Create(absl::StrCat("height: 1 width: 1 padding: ", padding), AnyImage());
    std::map<std::pair<int, int>, int> seen;
    for (uint64_t id = 0; id < 400; ++id) {
      ImageSize size = {1, 1};
      const auto params = runner->Resolve(size, {.id = id});
      ++seen[{params->y, params->x}];
    }
    return seen;
  };
  const auto height = [](const auto& seen) { return seen.rbegin()->first.first + 1; };
  EXPECT_EQ(places("1").size(), 9u);
  EXPECT_EQ(places("[2, 0]").size(), 5u);  // Left and right.
  EXPECT_EQ(height(places("[2, 0]")), 1);
  EXPECT_EQ(height(places("[0, 2]")), 5);
  EXPECT_EQ(places("[1, 0, 2, 0]").size(), 4u);  // Left, top, right, bottom.
  EXPECT_EQ(height(places("[0, 1, 0, 2]")), 4);
}

TEST(RandomCropStage, EachPlaceIsEquallyLikely) {
  const auto runner = Runner::Create("height: 32 width: 32 padding: 4", AnyImage());
  std::map<std::pair<int, int>, int> seen;
  constexpr int kDraws = 81 * 200;
  for (uint64_t id = 0; id < kDraws; ++id) {
    ImageSize size = {32, 32};
    const auto params = runner->Resolve(size, {.seed = 1, .id = id});
    ++seen[{params->y, params->x}];
  }
  ASSERT_EQ(seen.size(), 81u);
  double chi_square = 0;
  for (const auto& [place, count] : seen) chi_square += (count - 200) * (count - 200) / 200.0;
  EXPECT_LT(chi_square, 130);  // 80 degrees of freedom: exceeded once in 3,000 runs.
  EXPECT_GT(chi_square, 45);
}

TEST(RandomCropStage, DependsOnSeedEpochSampleAndNodeAlone) {
  const auto runner = Runner::Create("height: 10 width: 10", AnyImage());
  const auto place = [&](DrawKey key, const char* node) {
    ImageSize size = {5000, 5000};
    const auto params = runner->Resolve(size, key, node);
    return std::pair(params->y, params->x);
  };
  const auto base = place({1, 2, 3}, "crop");
  EXPECT_EQ(place({1, 2, 3}, "crop"), base);
  EXPECT_NE(place({2, 2, 3}, "crop"), base);
  EXPECT_NE(place({1, 3, 3}, "crop"), base);
  EXPECT_NE(place({1, 2, 4}, "crop"), base);
  EXPECT_NE(place({1, 2, 3}, "crop_2"), base);
}

}  // namespace
}  // namespace penstock
