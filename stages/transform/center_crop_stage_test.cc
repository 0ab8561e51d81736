#include "penstock/stages/transform/center_crop_stage.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using Runner = StageRunner<CenterCropStage>;

FieldSpec AnyImage() { return FieldSpec::Image("image", {}); }

TEST(CenterCropStage, RefusesBadOptionsAndInputs) {
  EXPECT_EQ(Refusal<CenterCropStage>("width: 3"), "height is not set, expected 1 to 65535");
  EXPECT_EQ(Refusal<CenterCropStage>("height: 3 width: -1"), "width is -1, expected 1 to 65535");
  EXPECT_THAT(Refusal<CenterCropStage>("height: 3 width: 3", FieldSpec::Encoded("image")),
              HasSubstr("put DecodeImage before it"));
}

// Sizes of 1 to 13 pixels: larger and smaller than the crop, odd and even.
TEST(CenterCropStage, EqualsTorchvision) {
  const References references("crop_references.bin");
  int cases = 0;
  for (; references.has(absl::StrCat("center_crop/", cases, "/case")); ++cases) {
    const std::string prefix = absl::StrCat("center_crop/", cases, "/");
    const TestImage image = TestImage::From(references.at(prefix + "in"));
    const TestImage expected = TestImage::From(references.at(prefix + "out"));
    auto runner = Runner::Create(
        absl::StrCat("height: ", expected.size().height, " width: ", expected.size().width),
        AnyImage());
    ASSERT_TRUE(runner.ok()) << runner.status();
    EXPECT_EQ(runner->out().size(), expected.size());
    const auto result = runner->Run(image);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->bytes, expected.bytes)
        << image.size().height << " x " << image.size().width << " to " << expected.size().height
        << " x " << expected.size().width;
    const Region part = Region{1, 2, 4, 3}.ClippedTo(expected.size());
    ImageSize size = image.size();
    const auto region = runner->Process(*runner->Resolve(size), image, part);
    ASSERT_TRUE(region.ok()) << region.status();
    EXPECT_EQ(region->bytes, expected.Part(part).bytes);
  }
  EXPECT_GE(cases, 100);
}

TEST(CenterCropStage, AsksForNothingBeyondTheImage) {
  const auto runner = Runner::Create("height: 4 width: 9", AnyImage());
  ASSERT_TRUE(runner.ok());
  ImageSize size = {10, 5};
  const auto params = runner->Resolve(size);
  ASSERT_TRUE(params.ok());
  EXPECT_EQ(size, (ImageSize{4, 9}));
  EXPECT_EQ(runner->stage().InputRegion(*params, {0, 0, 4, 9}), (Region{3, 0, 4, 5}));
  EXPECT_EQ(runner->stage().InputRegion(*params, {1, 4, 2, 1}), (Region{4, 2, 2, 1}));
  EXPECT_TRUE(runner->stage().InputRegion(*params, {0, 0, 4, 2})->empty());
}

TEST(CenterCropStage, IsTheIdentityForItsOwnSize) {
  const auto runner = Runner::Create("height: 4 width: 9", AnyImage());
  ImageSize same = {4, 9}, other = {4, 10};
  EXPECT_TRUE(runner->stage().IsIdentity(*runner->Resolve(same)));
  EXPECT_FALSE(runner->stage().IsIdentity(*runner->Resolve(other)));
}

}  // namespace
}  // namespace penstock
