#include "penstock/stages/transform/random_resized_crop_stage.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using Runner = StageRunner<RandomResizedCropStage>;

FieldSpec AnyImage() { return FieldSpec::Image("image", {}); }
constexpr char kNode[] = "random_resized_crop";

const References& Refs() {
  static const auto* references = new References("crop_references.bin");
  return *references;
}

std::string Refused(const std::string& more) {
  return Refusal<RandomResizedCropStage>("height: 8 width: 8 " + more);
}

Region Box(const Runner& runner, ImageSize size, DrawKey key) {
  const auto params = runner.Resolve(size, key, kNode);
  EXPECT_TRUE(params.ok()) << params.status();
  return params->box;
}

TEST(RandomResizedCropStage, RefusesBadOptions) {
  EXPECT_EQ(Refusal<RandomResizedCropStage>("width: 8"), "height is not set, expected 1 to 65535");
  EXPECT_EQ(Refused("scale: 0.5"),
            "scale is [0.5], expected two numbers, the lesser first, above 0 and up to 1");
  EXPECT_THAT(Refused("scale: [0, 1]"), HasSubstr("scale is [0, 1]"));
  EXPECT_THAT(Refused("scale: [0.5, 1.5]"), HasSubstr("scale is [0.5, 1.5]"));
  EXPECT_THAT(Refused("scale: [0.5, 0.4]"), HasSubstr("scale is [0.5, 0.4]"));
  EXPECT_THAT(Refused("scale: [nan, 1]"), HasSubstr("scale is [nan, 1]"));
  EXPECT_THAT(Refused("scale: [0.1, nan]"), HasSubstr("scale is [0.1, nan]"));
  EXPECT_THAT(Refused("ratio: [0, 1]"),
              HasSubstr("ratio is [0, 1], expected two numbers, the lesser first, 0.001 to 1000"));
  EXPECT_THAT(Refused("ratio: [1, inf]"), HasSubstr("ratio is [1, inf]"));
  EXPECT_THAT(Refused("ratio: [1, 1, 1]"), HasSubstr("ratio is [1, 1, 1]"));
  EXPECT_THAT(Refused("interpolation: 4"), HasSubstr("interpolation is 4"));
  EXPECT_THAT(Refusal<RandomResizedCropStage>("height: 8 width: 8", FieldSpec::Encoded("image")),
              HasSubstr("put DecodeImage before it"));
}

// 3,000 images, a tenth of them so thin that the ten tries fail: boxes equal those of torchvision's
// own Python over our random numbers, which the script computes without this code.
TEST(RandomResizedCropStage, BoxesEqualTorchvision) {
  const auto runner = Runner::Create("height: 224 width: 224", AnyImage());
  ASSERT_TRUE(runner.ok());
  const ReferenceArray& table = Refs().at("resized_crop/boxes");
  const auto rows = table.as<int64_t>();
  int64_t fallbacks = 0;
  for (int64_t i = 0; i < table.shape[0]; ++i) {
    const int64_t* row = rows.data() + i * table.shape[1];
    const auto number = [&](int at) { return static_cast<int32_t>(row[at]); };
    const DrawKey key = {static_cast<uint64_t>(row[0]), static_cast<uint64_t>(row[1]),
                         static_cast<uint64_t>(row[2])};
    EXPECT_EQ(Box(*runner, {number(3), number(4)}, key),
              (Region{number(5), number(6), number(7), number(8)}));
    fallbacks += row[9];
  }
  EXPECT_GT(fallbacks, 100);
}

TEST(RandomResizedCropStage, PixelsEqualPillow) {
  auto runner = Runner::Create("height: 48 width: 56", AnyImage());
  ASSERT_TRUE(runner.ok());
  EXPECT_EQ(runner->out().ToString(), "uint8 [48, 56, 3]");
  for (int k = 0; k < 12; ++k) {
    const TestImage image = TestImage::From(Refs().at(absl::StrCat("resized_crop/", k, "/in")));
    const TestImage expected = TestImage::From(Refs().at(absl::StrCat("resized_crop/", k, "/out")));
    ImageSize size = image.size();
    const auto params = runner->Resolve(size, {9, 2, static_cast<uint64_t>(k)}, kNode);
    ASSERT_TRUE(params.ok());
    const auto result = runner->Process(*params, image, Region::Whole(size));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->bytes == expected.bytes) << k;
  }
}

TEST(RandomResizedCropStage, FallsBackToTheCentre) {
  const auto runner = Runner::Create("height: 8 width: 8", AnyImage());
  ASSERT_TRUE(runner.ok());
  EXPECT_EQ(Box(*runner, {5, 600}, {}), (Region{0, 296, 5, 7}));   // 5 x 4/3 = 6.67.
  EXPECT_EQ(Box(*runner, {2000, 3}, {}), (Region{998, 0, 4, 3}));  // 3 / 0.75.
  EXPECT_EQ(Box(*runner, {1, 1}, {}), (Region{0, 0, 1, 1}));
  EXPECT_EQ(Box(*runner, {1, 65535}, {}), (Region{0, 32767, 1, 1}));
}

TEST(RandomResizedCropStage, AreaAndRatioAreUniformInRange) {
  const auto runner = Runner::Create("height: 8 width: 8", AnyImage());
  constexpr int kSamples = 20000;
  const ImageSize size = {3000, 3000};
  double area_sum = 0, ratio_sum = 0, least = 1, most = 0, narrow = 9, wide = 0;
  for (uint64_t id = 0; id < kSamples; ++id) {
    const Region box = Box(*runner, size, {.id = id});
    ASSERT_EQ(box, box.ClippedTo(size));
    const double share = static_cast<double>(box.area()) / 9e6;
    const double ratio = static_cast<double>(box.width) / box.height;
    area_sum += share;
    ratio_sum += std::log(ratio);
    least = std::min(least, share), most = std::max(most, share);
    narrow = std::min(narrow, ratio), wide = std::max(wide, ratio);
  }
  EXPECT_GT(least, 0.0799);
  EXPECT_LT(least, 0.081);
  EXPECT_GT(most, 0.98);  // 1 only where the ratio is 1 too.
  EXPECT_GT(narrow, 0.749);
  EXPECT_LT(narrow, 0.755);
  EXPECT_GT(wide, 1.325);
  EXPECT_LT(wide, 1.335);
  EXPECT_NEAR(ratio_sum / kSamples, 0.0, 0.01);
  // A square image takes a share s at ratio r if s <= min(r, 1 / r). The mean of those s, where s
  // is uniform over [0.08, 1] and ln r over [-ln 4/3, ln 4/3], is an integral: 0.4778.
  EXPECT_NEAR(area_sum / kSamples, 0.4778, 0.007);  // Four standard deviations.
}

TEST(RandomResizedCropStage, DependsOnSeedEpochSampleAndNodeAlone) {
  const auto runner = Runner::Create("height: 8 width: 8", AnyImage());
  const ImageSize size = {4000, 3000};
  const Region base = Box(*runner, size, {1, 2, 3});
  EXPECT_EQ(Box(*runner, size, {1, 2, 3}), base);
  EXPECT_NE(Box(*runner, size, {2, 2, 3}), base);
  EXPECT_NE(Box(*runner, size, {1, 3, 3}), base);
  EXPECT_NE(Box(*runner, size, {1, 2, 4}), base);
  ImageSize again = size;
  EXPECT_NE(runner->Resolve(again, {1, 2, 3}, "another")->box, base);
}

TEST(RandomResizedCropStage, WholeImageOfTheRightSizeIsTheIdentity) {
  auto runner = Runner::Create("height: 30 width: 30 scale: [1, 1] ratio: [1, 1]", AnyImage());
  ASSERT_TRUE(runner.ok());
  ImageSize same = {30, 30}, other = {31, 31};
  EXPECT_TRUE(runner->stage().IsIdentity(*runner->Resolve(same)));
  EXPECT_FALSE(runner->stage().IsIdentity(*runner->Resolve(other)));
}

}  // namespace
}  // namespace penstock
