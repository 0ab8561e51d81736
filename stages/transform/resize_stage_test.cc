#include "penstock/stages/transform/resize_stage.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using Runner = StageRunner<ResizeStage>;

FieldSpec AnyImage() { return FieldSpec::Image("image", {}); }

// The size that `options` make of an image, or the error.
std::string Resized(const std::string& options, ImageSize size) {
  const auto runner = Runner::Create(options, AnyImage());
  if (!runner.ok()) return std::string(runner.status().message());
  const auto params = runner->Resolve(size);
  if (!params.ok()) return std::string(params.status().message());
  EXPECT_EQ(params->out, size);
  return absl::StrCat(size.height, " x ", size.width);
}

TEST(ResizeStage, RefusesBadOptions) {
  const auto refusal = [](const char* options) { return Refusal<ResizeStage>(options); };
  EXPECT_THAT(refusal(""), HasSubstr("set shorter_edge, longer_edge or size"));
  EXPECT_EQ(refusal("shorter_edge: 0"), "shorter_edge is 0, expected 1 to 65535");
  EXPECT_EQ(refusal("shorter_edge: -3"), "shorter_edge is -3, expected 1 to 65535");
  EXPECT_EQ(refusal("longer_edge: 65536"), "longer_edge is 65536, expected 1 to 65535");
  EXPECT_EQ(refusal("size { height: 5 }"), "size: width is not set, expected 1 to 65535");
  EXPECT_EQ(refusal("size { height: 0 width: 5 }"), "size: height is 0, expected 1 to 65535");
  EXPECT_THAT(refusal("size { height: 65535 width: 65535 }"), HasSubstr("268435456 pixels"));
  EXPECT_EQ(refusal("shorter_edge: 9 max_size: 9"),
            "max_size is 9, expected more than shorter_edge (9), up to 65535");
  EXPECT_EQ(refusal("longer_edge: 9 max_size: 20"), "max_size is for shorter_edge only");
  EXPECT_EQ(refusal("shorter_edge: 9 interpolation: 7"),
            "interpolation is 7, expected BILINEAR, NEAREST or BICUBIC");
}

TEST(ResizeStage, RefusesWhatIsNoImage) {
  EXPECT_THAT(Refusal<ResizeStage>("shorter_edge: 9", FieldSpec::Encoded("image")),
              HasSubstr("put DecodeImage before it"));
  FieldSpec planes = FieldSpec::Image("image", {4, 4});
  planes.dtype = kFloat32;
  EXPECT_THAT(Refusal<ResizeStage>("shorter_edge: 9", planes), HasSubstr("got 'image' as float32"));
  EXPECT_THAT(Refusal<ResizeStage>("shorter_edge: 9", FieldSpec::Image("image", {4, 4}, 5)),
              HasSubstr("5 channels, expected 1 to 4"));
}

TEST(ResizeStage, SizesEqualTorchvision) {
  const References references("resize_references.bin");
  const ReferenceArray& table = references.at("sizes");
  const auto rows = table.as<int64_t>();
  for (int64_t i = 0; i < table.shape[0]; ++i) {
    const int64_t* row = rows.data() + i * table.shape[1];
    const ImageSize in = {static_cast<int32_t>(row[1]), static_cast<int32_t>(row[2])};
    std::string options = absl::StrCat(row[0] == 1 ? "longer_edge: " : "shorter_edge: ", row[3]);
    if (row[0] == 2) absl::StrAppend(&options, " max_size: ", row[4]);
    const std::string got = Resized(options, in);
    if (row[5] > 65535 || row[6] > 65535) {
      EXPECT_THAT(got, HasSubstr("a side may have 65535"));
    } else {
      EXPECT_EQ(got, absl::StrCat(row[5], " x ", row[6]))
          << options << " of " << in.height << " x " << in.width;
    }
  }
}

TEST(ResizeStage, SidesStayWhatTheyAre) {
  EXPECT_EQ(Resized("shorter_edge: 10", {2, 3}), "10 x 15");
  EXPECT_EQ(Resized("shorter_edge: 10", {3, 2}), "15 x 10");
  EXPECT_EQ(Resized("shorter_edge: 10", {7, 7}), "10 x 10");
}

TEST(ResizeStage, ThinImagesKeepAPixel) {
  EXPECT_EQ(Resized("longer_edge: 100", {2000, 4}), "100 x 1");
  EXPECT_EQ(Resized("longer_edge: 10", {900, 1}), "10 x 1");
  EXPECT_EQ(Resized("longer_edge: 10", {1, 900}), "1 x 10");
}

TEST(ResizeStage, ImmenseResultsAreErrorsThatNameBothSizes) {
  EXPECT_EQ(Resized("shorter_edge: 224", {1, 2000}),
            "an image of height 1, width 2000 would be resized to height 224, width 448000; a side "
            "may have 65535 and an image 268435456 pixels");
  EXPECT_THAT(Resized("shorter_edge: 60000", {100, 100}), HasSubstr("height 60000, width 60000"));
  EXPECT_THAT(Resized("shorter_edge: 65535", {1, 2147483647}), HasSubstr("width 140735340806145"));
  // Known before the run: the graph is at fault.
  EXPECT_THAT(Refusal<ResizeStage>("shorter_edge: 224", FieldSpec::Image("image", {1, 2000})),
              HasSubstr("height 1, width 2000"));
}

TEST(ResizeStage, InfersTheShapeWhereItCan) {
  const auto shape = [](const char* options, ImageSize in) {
    const auto runner = Runner::Create(options, FieldSpec::Image("image", in));
    return runner.ok() ? runner->out().ToString() : std::string(runner.status().message());
  };
  EXPECT_EQ(shape("size { height: 5 width: 7 }", {}), "uint8 [5, 7, 3]");
  EXPECT_EQ(shape("shorter_edge: 5", {}), "uint8 [?, ?, 3]");
  EXPECT_EQ(shape("shorter_edge: 5", {10, 20}), "uint8 [5, 10, 3]");
}

TEST(ResizeStage, IsTheIdentityWhereNoSizeChanges) {
  const auto runner = Runner::Create("shorter_edge: 30", AnyImage());
  ASSERT_TRUE(runner.ok());
  ImageSize same = {30, 40}, other = {31, 40};
  EXPECT_TRUE(runner->stage().IsIdentity(*runner->Resolve(same)));
  EXPECT_FALSE(runner->stage().IsIdentity(*runner->Resolve(other)));
}

TEST(ResizeStage, PixelsEqualPillow) {
  const References references("resize_references.bin");
  const TestImage image = TestImage::From(references.at("resize/5/in"));
  for (const auto& [options, name] :
       {std::pair("", "bilinear"), std::pair("antialias: true", "bilinear"),
        std::pair("interpolation: BICUBIC", "bicubic"),
        std::pair("interpolation: NEAREST", "nearest"),
        std::pair("antialias: false", "two_taps")}) {
    const TestImage expected = TestImage::From(references.at(absl::StrCat("resize/5/", name)));
    auto runner = Runner::Create(absl::StrCat("shorter_edge: 224 ", options), AnyImage());
    ASSERT_TRUE(runner.ok()) << runner.status();
    const auto result = runner->Run(image);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->size(), expected.size());
    EXPECT_TRUE(result->bytes == expected.bytes) << options;
    const Region part = {3, 5, 100, 200};
    ImageSize size = image.size();
    const auto region = runner->Process(*runner->Resolve(size), image, part);
    ASSERT_TRUE(region.ok()) << region.status();
    EXPECT_TRUE(region->bytes == expected.Part(part).bytes) << options;
  }
}

}  // namespace
}  // namespace penstock
