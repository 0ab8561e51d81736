#include "penstock/stages/transform/random_horizontal_flip_stage.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using Runner = StageRunner<RandomHorizontalFlipStage>;

FieldSpec AnyImage() { return FieldSpec::Image("image", {}); }

int Flips(const std::string& options, int samples) {
  const auto runner = Runner::Create(options, AnyImage());
  int flips = 0;
  for (int id = 0; id < samples; ++id) {
    ImageSize size = {3, 5};
    const auto params = runner->Resolve(size, {.id = static_cast<uint64_t>(id)});
    flips += params->flip;
    EXPECT_EQ(runner->stage().IsIdentity(*params), params->flip == 0);
    EXPECT_EQ(size, (ImageSize{3, 5}));
  }
  return flips;
}

TEST(RandomHorizontalFlipStage, RefusesBadOptionsAndInputs) {
  const auto refusal = [](const char* options) {
    return Refusal<RandomHorizontalFlipStage>(options);
  };
  EXPECT_EQ(refusal("probability: 1.5"), "probability is 1.5, expected 0 to 1");
  EXPECT_EQ(refusal("probability: -0.1"), "probability is -0.1, expected 0 to 1");
  EXPECT_EQ(refusal("probability: nan"), "probability is nan, expected 0 to 1");
  EXPECT_EQ(refusal("probability: 0"), "OK");
  EXPECT_THAT(Refusal<RandomHorizontalFlipStage>("", FieldSpec::Encoded("image")),
              HasSubstr("put DecodeImage before it"));
}

TEST(RandomHorizontalFlipStage, FlipsAsOftenAsAsked) {
  EXPECT_EQ(Flips("probability: 0", 5000), 0);
  EXPECT_EQ(Flips("probability: 1", 5000), 5000);
  EXPECT_NEAR(Flips("", 10000), 5000, 200);  // Four standard deviations.
  EXPECT_NEAR(Flips("probability: 0.1", 10000), 1000, 120);
}

TEST(RandomHorizontalFlipStage, MirrorsEveryRow) {
  for (int channels = 1; channels <= 4; ++channels) {
    auto runner = Runner::Create("probability: 1", FieldSpec::Image("image", {}, channels));
    ASSERT_TRUE(runner.ok()) << runner.status();
    TestImage image = TestImage::Make({0, 0, 4, 7}, channels);
    for (size_t i = 0; i < image.bytes.size(); ++i) image.bytes[i] = static_cast<uint8_t>(i * 31);
    const auto result = runner->Run(image);
    ASSERT_TRUE(result.ok()) << result.status();
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 7; ++x) {
        for (int c = 0; c < channels; ++c) {
          EXPECT_EQ(result->view().at(y, x)[c], image.view().at(y, 6 - x)[c]);
        }
      }
    }
    ImageSize size = image.size();
    const auto params = runner->Resolve(size);
    const Region part = {1, 2, 2, 4};
    EXPECT_EQ(runner->stage().InputRegion(*params, part), (Region{1, 1, 2, 4}));
    EXPECT_EQ(runner->Process(*params, image, part)->bytes, result->Part(part).bytes);
  }
}

// A stage that is left out must not pull another region; run all the same, it copies.
TEST(RandomHorizontalFlipStage, TheIdentityPullsTheSameRegion) {
  auto runner = Runner::Create("probability: 0", AnyImage());
  TestImage image = TestImage::Make({0, 0, 2, 3}, 3);
  for (size_t i = 0; i < image.bytes.size(); ++i) image.bytes[i] = static_cast<uint8_t>(i);
  ImageSize size = image.size();
  const auto params = runner->Resolve(size);
  EXPECT_EQ(runner->stage().InputRegion(*params, {1, 2, 1, 1}), (Region{1, 2, 1, 1}));
  EXPECT_EQ(runner->Process(*params, image, image.region)->bytes, image.bytes);
}

TEST(RandomHorizontalFlipStage, DiffersBetweenEpochsAndNodes) {
  const auto runner = Runner::Create("", AnyImage());
  int differ_by_epoch = 0, differ_by_node = 0;
  for (uint64_t id = 0; id < 1000; ++id) {
    ImageSize size = {3, 5};
    const int base = runner->Resolve(size, {0, 0, id}, "a")->flip;
    EXPECT_EQ(runner->Resolve(size, {0, 0, id}, "a")->flip, base);
    differ_by_epoch += base != runner->Resolve(size, {0, 1, id}, "a")->flip;
    differ_by_node += base != runner->Resolve(size, {0, 0, id}, "b")->flip;
  }
  EXPECT_NEAR(differ_by_epoch, 500, 80);
  EXPECT_NEAR(differ_by_node, 500, 80);
}

}  // namespace
}  // namespace penstock
