// The kernel that gathers images against SimGather, byte for byte. Skips itself where there is no
// CUDA device, but for what needs none.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/testing/gather_runner.h"

namespace penstock {
namespace {

constexpr ImageSize kSizes[] = {{1, 1},     {3, 5},    {32, 32}, {33, 31},
                                {224, 224}, {1, 1024}, {1000, 7}};
constexpr int kChannels[] = {1, 3, 4};
constexpr int32_t kMaxSide = 1024;  // Of a padded image.

StageText Crop(const std::string& options) { return {"penstock.RandomCrop", options}; }
StageText Flip() { return {"penstock.RandomHorizontalFlip", "probability: 0.5"}; }
StageText Normalize(const std::string& options) {
  return {"penstock.Normalize", absl::StrCat("mean: 0.45 std: 0.22 ", options)};
}

std::vector<std::string> AllFormats() {
  std::vector<std::string> all;
  for (const char* dtype : {"FLOAT32", "FLOAT16", "BFLOAT16"}) {
    for (const char* layout : {"NCHW", "NHWC"}) {
      all.push_back(absl::StrCat("dtype: ", dtype, " layout: ", layout));
    }
  }
  return all;
}

// Crops of an image of that size: a smaller one; in each mode one of its size out of a padded
// image; and one that is larger, which is padded twice.
std::vector<StageText> AllCrops(ImageSize size, int channels) {
  const std::string fill = channels == 1   ? "fill: [200]"
                           : channels == 3 ? "fill: [200, 9, 80]"
                                           : "fill: [200, 9, 80, 255]";
  const auto sides = [](int32_t height, int32_t width) {
    return absl::StrCat("height: ", height, " width: ", width);
  };
  const auto most = [](int32_t side, int32_t more) { return std::min(more, kMaxSide - side); };
  const int32_t left = most(size.width, 5), top = most(size.height, 3);
  const ImageSize larger = {size.height + most(size.height, 10) / 2,
                            size.width + most(size.width, 14) / 2};
  std::vector<StageText> crops = {
      Crop(sides((size.height + 1) / 2, (size.width + 1) / 2)),
  };
  for (const char* mode : {"CONSTANT", "EDGE", "REFLECT", "SYMMETRIC"}) {
    const std::string how = absl::StrCat(" padding_mode: ", mode, " ", fill);
    crops.push_back(Crop(absl::StrCat(sides(size.height, size.width), " padding: [", left, ", ",
                                      top, ", 0, 0]", how)));
    crops.push_back(
        Crop(absl::StrCat(sides(larger.height, larger.width), " pad_if_needed: true", how)));
  }
  return crops;
}

// Where rows, entries and outputs may lie, and what is carried along. Outputs are aligned to items.
const std::vector<GatherCase>& AllPlaces() {
  static const auto& places = *new std::vector<GatherCase>{
      {},
      {.shift = 1, .rows_on_host = true, .carries = {24}},
      {.counts = {2, 1}, .gap = 1, .entries_on_device = true, .out_shift = 4, .carries = {7}},
      {.shift = 13, .gap = 3, .rows_on_host = true, .out_shift = 12},
      {.shift = 16, .gap = 16, .carries = {1, 4097}},
      {.counts = {1, 0, 2}, .shift = 15, .gap = 2, .rows_on_host = true, .entries_on_device = true},
      {.shift = 8, .gap = 8, .out_shift = 8},
  };
  return places;
}

class GatherImagesCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create(0);
    if (!device.ok()) GTEST_SKIP() << device.status();
    cuda_ = std::make_unique<GatherRunner>(*std::move(device));
  }

  void Check(ImageSize size, int channels, const std::vector<StageText>& stages,
             const GatherCase& c) {
    const auto name = [](std::string* out, const StageText& stage) {
      absl::StrAppend(out, stage.name, " { ", stage.options, " }");
    };
    SCOPED_TRACE(absl::StrCat(size.height, " x ", size.width, " x ", channels, ", shift ", c.shift,
                              ", gap ", c.gap, ", out_shift ", c.out_shift, ": ",
                              absl::StrJoin(stages, ", ", name)));
    const auto chain = GatherChain::Create(FieldSpec::Image("image", size, channels), stages);
    ASSERT_TRUE(chain.ok()) << chain.status();
    const auto expected = sim_.Run(*chain, c), got = cuda_->Run(*chain, c);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), expected->size());
    const auto differ = std::mismatch(got->begin(), got->end(), expected->begin());
    EXPECT_TRUE(differ.first == got->end())
        << "byte " << differ.first - got->begin() << " of " << got->size() << " is "
        << int{*differ.first} << ", expected " << int{*differ.second};
  }
  // Each time in another of AllPlaces(), in turn.
  void CheckSomewhere(ImageSize size, int channels, const std::vector<StageText>& stages) {
    Check(size, channels, stages, AllPlaces()[turn_++ % AllPlaces().size()]);
  }

  GatherRunner sim_{SimDevice::Create()};
  std::unique_ptr<GatherRunner> cuda_;
  size_t turn_ = 0;
};

TEST_F(GatherImagesCudaTest, EqualsTheHostFormsForAnySize) {
  for (const ImageSize size : kSizes) {
    for (const int channels : kChannels) {
      for (const std::string& format : AllFormats()) {
        CheckSomewhere(size, channels, {Normalize(format)});
        CheckSomewhere(size, channels, {Flip(), Normalize(format)});
      }
    }
  }
}

TEST_F(GatherImagesCudaTest, EqualsTheHostFormsForAnyCrop) {
  for (const ImageSize size : kSizes) {
    for (const int channels : kChannels) {
      for (const StageText& crop : AllCrops(size, channels)) {
        for (const std::string& format : AllFormats()) {
          CheckSomewhere(size, channels, {crop, Normalize(format)});
          CheckSomewhere(size, channels, {crop, Flip(), Normalize(format)});
        }
      }
    }
  }
}

TEST_F(GatherImagesCudaTest, EqualsTheHostFormsInEachPlace) {
  const StageText crop = Crop("height: 32 width: 32 padding: 4 fill: 7");
  for (const GatherCase& place : AllPlaces()) {
    for (const std::string& format : AllFormats()) {
      for (const int channels : kChannels) {
        Check({32, 32}, channels, {crop, Flip(), Normalize(format)}, place);
        Check({33, 31}, channels, {crop, Flip(), Normalize(format)}, place);
      }
    }
  }
}

// As many batches as a launch can take, of different sizes and some without rows; more images than
// a grid has blocks.
TEST_F(GatherImagesCudaTest, TakesSeveralBatchesInOneCall) {
  const std::vector<StageText> stages = {Crop("height: 32 width: 32 padding: 4"), Flip(),
                                         Normalize("dtype: FLOAT16")};
  GatherCase c = {.counts = {0, 5, 1, 257, 0, 3, 2000, 0}, .shift = 3, .carries = {33, 8}};
  ASSERT_EQ(c.counts.size(), kMaxGathered);
  ASSERT_EQ(c.counts.size() * c.carries.size(), kMaxCarries);
  Check({32, 32}, 3, stages, c);
  c.rows_on_host = true;
  Check({32, 32}, 3, stages, c);
  Check({32, 32}, 3, stages, {.counts = {1}, .carries = std::vector<size_t>(kMaxCarries, 3)});
  Check({32, 32}, 3, stages, {.counts = {0, 0}});
}

// Needs no device.
TEST(GatherImagesCudaPrepareTest, RefusesPaddedSidesAboveItsTables) {
  const auto prepare = [](ImageSize size, const std::string& crop) {
    const auto chain =
        GatherChain::Create(FieldSpec::Image("image", size), {Crop(crop), Normalize("")});
    EXPECT_TRUE(chain.ok()) << chain.status();
    return (*chain->MakeForm(DeviceKind::kCuda))->Prepare(chain->specs());
  };
  const std::string one = "height: 1 width: 1 ";
  EXPECT_TRUE(prepare({1024, 1024}, one).ok());
  EXPECT_TRUE(prepare({1000, 8}, absl::StrCat(one, "padding: 12")).ok());
  EXPECT_EQ(
      prepare({1001, 8}, absl::StrCat(one, "padding: 12")),
      absl::InvalidArgumentError("images of 1025x32 with their padding are larger than 1024"));
  EXPECT_EQ(prepare({8, 1001}, absl::StrCat(one, "padding: [12, 0]")),
            absl::InvalidArgumentError("images of 8x1025 with their padding are larger than 1024"));
  EXPECT_EQ(prepare({1020, 4}, "height: 1023 width: 1 pad_if_needed: true"),
            absl::InvalidArgumentError("images of 1026x4 with their padding are larger than 1024"));
  const auto chain = GatherChain::Create(FieldSpec::Image("image", {4, 1025}), {Normalize("")});
  EXPECT_EQ((*chain->MakeForm(DeviceKind::kCuda))->Prepare(chain->specs()),
            absl::InvalidArgumentError("images of 4x1025 with their padding are larger than 1024"));
}

}  // namespace
}  // namespace penstock
