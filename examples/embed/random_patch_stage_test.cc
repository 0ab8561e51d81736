// A stage is tested without pipeline, threads or files.
#include "random_patch_stage.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace embed {
namespace {

using penstock::FieldSpec;
using penstock::FieldView;
using penstock::ImageSize;
using penstock::Random;
using penstock::RandomKey;
using penstock::Region;

absl::Status Init(RandomPatchStage& stage, int32_t size) {
  RandomPatch options;
  options.set_size(size);
  // The interface that the pipeline uses takes the options; the stage's own Init() checks them.
  return static_cast<penstock::SampleStage&>(stage).Init(options);
}

Random Draws(uint64_t sample) {
  return Random({.seed = 1, .epoch = 0, .id = sample}, RandomKey("node"));
}

FieldView View(std::vector<uint8_t>& bytes, const Region& region) {
  bytes.resize(region.area() * 3);
  return {.address = reinterpret_cast<uint64_t>(bytes.data()),
          .bytes = static_cast<int64_t>(bytes.size()),
          .region = region};
}

TEST(RandomPatchStage, OptionsAreChecked) {
  RandomPatchStage stage;
  EXPECT_EQ(Init(stage, 0), absl::InvalidArgumentError("size is 0, expected 1 to 65535"));
  EXPECT_EQ(Init(stage, 65536), absl::InvalidArgumentError("size is 65536, expected 1 to 65535"));
  EXPECT_EQ(Init(stage, 5), absl::OkStatus());
}

TEST(RandomPatchStage, ShapeIsTheOptions) {
  RandomPatchStage stage;
  ASSERT_EQ(Init(stage, 5), absl::OkStatus());
  FieldSpec image = FieldSpec::Image("image", {});
  EXPECT_EQ(stage.Infer(image), absl::OkStatus());
  EXPECT_EQ(image.ToString(), "uint8 [5, 5, 3]");
  FieldSpec encoded = FieldSpec::Encoded("image");
  EXPECT_EQ(stage.Infer(encoded),
            absl::InvalidArgumentError("'image' is encoded, expected an image"));
}

TEST(RandomPatchStage, EveryPlaceOccurs) {
  RandomPatchStage stage;
  ASSERT_EQ(Init(stage, 5), absl::OkStatus());
  std::set<std::pair<int32_t, int32_t>> places;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    ImageSize size = {6, 7};
    Random random = Draws(sample);
    const absl::StatusOr<PatchPlace> place = stage.Resolve(size, random);
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(size, (ImageSize{5, 5}));
    places.emplace(place->top, place->left);
  }
  EXPECT_EQ(places.size(), 2u * 3u);
  EXPECT_EQ(*places.begin(), std::pair(0, 0));
  EXPECT_EQ(*places.rbegin(), std::pair(1, 2));
}

TEST(RandomPatchStage, SmallImagesAreRefused) {
  RandomPatchStage stage;
  ASSERT_EQ(Init(stage, 5), absl::OkStatus());
  ImageSize size = {4, 9};
  Random random = Draws(0);
  EXPECT_EQ(stage.Resolve(size, random).status(),
            absl::FailedPreconditionError("image is 4 x 9, smaller than a patch of 5"));
}

// Given just what it asks for, it writes the part that it is asked for.
TEST(RandomPatchStage, PartOfThePatch) {
  RandomPatchStage stage;
  ASSERT_EQ(Init(stage, 5), absl::OkStatus());
  const PatchPlace place = {.top = 3, .left = 10};
  const Region part = {.y = 1, .x = 2, .height = 4, .width = 2};
  const std::optional<Region> needed = stage.InputRegion(place, part);
  ASSERT_EQ(needed, (Region{4, 12, 4, 2}));
  const auto pixel = [](int y, int x, int c) { return static_cast<uint8_t>(y * 50 + x * 3 + c); };
  std::vector<uint8_t> in_bytes, out_bytes;
  const FieldView in = View(in_bytes, *needed), out = View(out_bytes, part);
  for (int y = 4; y < 8; ++y) {
    for (int x = 12; x < 14; ++x) {
      for (int c = 0; c < 3; ++c) in.at(y, x)[c] = pixel(y, x, c);
    }
  }
  penstock::SampleContext context(nullptr, nullptr);  // For state and scratch, which it has not.
  ASSERT_EQ(stage.Process(place, in, out, context), absl::OkStatus());
  for (int y = 1; y < 5; ++y) {
    for (int x = 2; x < 4; ++x) {
      for (int c = 0; c < 3; ++c) EXPECT_EQ(out.at(y, x)[c], pixel(y + 3, x + 10, c));
    }
  }
}

}  // namespace
}  // namespace embed
