#include "penstock/stages/transform/normalize_stage.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using Runner = StageRunner<NormalizeStage>;

constexpr char kImageNet[] = "mean: [0.485, 0.456, 0.406] std: [0.229, 0.224, 0.225] ";
FieldSpec AnyImage() { return FieldSpec::Image("image", {}); }

std::string Refused(const std::string& options, const FieldSpec& input = AnyImage()) {
  return Refusal<NormalizeStage>(options, input);
}

TEST(NormalizeStage, RefusesBadOptions) {
  EXPECT_EQ(Refused("std: 0"), "std is 0, expected a finite number above 0");
  EXPECT_EQ(Refused("std: [1, -1, 1]"), "std is -1, expected a finite number above 0");
  EXPECT_EQ(Refused("std: nan"), "std is nan, expected a finite number above 0");
  EXPECT_EQ(Refused("std: inf"), "std is inf, expected a finite number above 0");
  EXPECT_EQ(Refused("mean: nan"), "mean is nan, expected a finite number");
  EXPECT_EQ(Refused("mean: -inf"), "mean is -inf, expected a finite number");
  EXPECT_EQ(Refused("scale: 0"), "scale is 0, expected a finite number other than 0");
  EXPECT_EQ(Refused("scale: nan"), "scale is nan, expected a finite number other than 0");
  EXPECT_EQ(Refused("mean: [0, 0] std: [1, 1, 1]"),
            "mean has 2 numbers and std 3, expected as many, or one");
  EXPECT_THAT(Refused("mean: [0, 0, 0, 0, 0]"), HasSubstr("mean has 5 numbers"));
  EXPECT_THAT(Refused("dtype: 9"), HasSubstr("dtype is 9, expected FLOAT32"));
  EXPECT_EQ(Refused("layout: 9"), "layout is 9, expected NCHW or NHWC");
  EXPECT_EQ(Refused("std: 1e-6 dtype: FLOAT16"),
            "pixels of 17 become 66666.7, and float16 holds numbers up to 65504; check scale and "
            "std");
  EXPECT_EQ(Refused("std: 1e-6 dtype: BFLOAT16"), "OK");
  EXPECT_THAT(Refused("field: \"picture\""), HasSubstr("there is no field 'picture'"));
}

TEST(NormalizeStage, RefusesMeansOfTheWrongUnit) {
  EXPECT_THAT(Refused("mean: [123.675, 116.28, 103.53]"),
              HasSubstr("means in 0..255 need scale: 1"));
  EXPECT_THAT(Refused("mean: -128 scale: 0.00392156862745098"),
              HasSubstr("means in 0..255 need scale: 1"));
  EXPECT_EQ(Refused("mean: [123.675, 116.28, 103.53] scale: 1"), "OK");
  EXPECT_EQ(Refused("mean: 1"), "OK");
}

TEST(NormalizeStage, RefusesWhatIsNoUint8Image) {
  EXPECT_THAT(Refused("", FieldSpec::Encoded("image")), HasSubstr("put DecodeImage before it"));
  FieldSpec floats = FieldSpec::Image("image", {2, 2});
  floats.dtype = kFloat32;
  EXPECT_THAT(Refused("", floats), HasSubstr("expected a decoded image (uint8"));
  EXPECT_THAT(Refused("", FieldSpec::Scalar("image", kInt64)), HasSubstr("int64 []"));
  EXPECT_EQ(Refused("mean: [0, 0, 0]", FieldSpec::Image("image", {2, 2}, 1)),
            "mean and std are for 3 channels, 'image' has 1");
}

TEST(NormalizeStage, InfersTypeAndLayout) {
  const auto out = [](const char* options) {
    const auto runner = Runner::Create(options, FieldSpec::Image("image", {5, 7}));
    return runner.ok() ? runner->out() : FieldSpec{};
  };
  EXPECT_EQ(out("").ToString(), "float32 [3, 5, 7]");
  EXPECT_EQ(out("").layout, ImageLayout::kChw);
  EXPECT_EQ(out("").size(), (ImageSize{5, 7}));
  EXPECT_EQ(out("dtype: FLOAT16 layout: NHWC").ToString(), "float16 [5, 7, 3]");
  EXPECT_EQ(out("layout: NHWC").layout, ImageLayout::kHwc);
  EXPECT_EQ(out("dtype: BFLOAT16").ToString(), "bfloat16 [3, 5, 7]");
  EXPECT_EQ(Runner::Create("", AnyImage())->out().ToString(), "float32 [3, ?, ?]");
}

// All 256 values of three channels, in one image.
TestImage AllValues() {
  TestImage image = TestImage::Make({0, 0, 16, 16}, 3);
  for (int i = 0; i < 256; ++i) {
    for (int c = 0; c < 3; ++c) image.bytes[i * 3 + c] = static_cast<uint8_t>(i);
  }
  return image;
}

template <class Item>
void CompareWithReference(const std::string& dtype, const std::string& name) {
  const References references("number_references.bin");
  const auto expected = references.at("normalize/" + name).as<Item>();
  for (const bool planar : {true, false}) {
    auto runner = Runner::Create(
        absl::StrCat(kImageNet, "dtype: ", dtype, " layout: ", planar ? "NCHW" : "NHWC"),
        AnyImage());
    ASSERT_TRUE(runner.ok()) << runner.status();
    const auto result = runner->Run(AllValues());
    ASSERT_TRUE(result.ok()) << result.status();
    const auto* items = reinterpret_cast<const Item*>(result->bytes.data());
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 256; ++i) {
        EXPECT_EQ(items[planar ? c * 256 + i : i * 3 + c], expected[c * 256 + i]) << c << " " << i;
      }
    }
  }
}

TEST(NormalizeStage, Float32EqualsNumpy) { CompareWithReference<uint32_t>("FLOAT32", "float32"); }
TEST(NormalizeStage, Float16EqualsNumpy) { CompareWithReference<uint16_t>("FLOAT16", "float16"); }
TEST(NormalizeStage, Bfloat16EqualsExactRounding) {
  CompareWithReference<uint16_t>("BFLOAT16", "bfloat16");
}

// 1 becomes 1 + 2^-11 + 2^-40. Rounded to float32 first, that would be a tie, and round down.
TEST(NormalizeStage, RoundsOnce) {
  auto runner = Runner::Create("scale: 1.0004882812509095 dtype: FLOAT16", AnyImage());
  ASSERT_TRUE(runner.ok()) << runner.status();
  const auto result = runner->Run(AllValues());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(reinterpret_cast<const uint16_t*>(result->bytes.data())[1], 0x3C01);
}

TEST(NormalizeStage, OneNumberServesAllChannels) {
  for (int channels = 1; channels <= 4; ++channels) {
    auto runner =
        Runner::Create("mean: 0.5 std: 0.25 layout: NHWC", FieldSpec::Image("image", {}, channels));
    ASSERT_TRUE(runner.ok()) << runner.status();
    TestImage image = TestImage::Make({0, 0, 1, 2}, channels);
    std::fill(image.bytes.begin(), image.bytes.end(), 255);
    const auto result = runner->Run(image);
    ASSERT_TRUE(result.ok());
    const auto* items = reinterpret_cast<const float*>(result->bytes.data());
    for (int i = 0; i < 2 * channels; ++i) EXPECT_EQ(items[i], 2.0F);
  }
}

TEST(NormalizeStage, DefaultsDivideBy255) {
  auto runner = Runner::Create("", AnyImage());
  const auto result = runner->Run(AllValues());
  const auto* items = reinterpret_cast<const float*>(result->bytes.data());
  EXPECT_EQ(items[0], 0.0F);
  EXPECT_EQ(items[255], 1.0F);
  EXPECT_EQ(items[51], 0.2F);
}

// The registered form on a SimDevice gives the host's bytes, for the rows that are asked for alone.
TEST(NormalizeStage, SimFormEqualsTheHostForm) {
  const Registry::DeviceEntry* form =
      Registry::Default().FindDeviceForm(DeviceKind::kSim, {"penstock.Normalize"});
  ASSERT_NE(form, nullptr);
  auto runner = Runner::Create(kImageNet, AnyImage());
  const SampleStage* host[] = {&runner->stage()};
  const auto stage = form->make(host);

  const TestImage image = AllValues();
  const TestImage expected = *runner->Run(image);
  TestImage outs[3];
  std::vector<FieldView> in(3), out(3);
  for (int row = 0; row < 3; ++row) {
    outs[row] = TestImage::Make(image.region, 3, 4);
    in[row] = image.view();
    out[row] = outs[row].view(kFloat32);
  }
  const std::vector<int32_t> rows = {2, 0};
  const std::vector<Table<FieldView>> views = {{in.data(), in.data()}, {out.data(), out.data()}};
  const std::byte* none = nullptr;
  const std::vector<Table<std::byte>> params = {{none, none}};
  const auto device = SimDevice::Create();
  const auto stream = device->CreateStream();
  ASSERT_TRUE(stream.ok());
  const DeviceCall call = {.device = *device,
                           .stream = (*stream)->ref(),
                           .rows = {rows.data(), rows.data()},
                           .count = 2,
                           .views = views,
                           .params = params,
                           .descriptors = {},
                           .scratch = nullptr};
  ASSERT_TRUE(stage->Enqueue(call).ok());
  ASSERT_TRUE(device->Synchronize((*stream)->ref()).ok());
  EXPECT_TRUE(device->status().ok()) << device->status();
  EXPECT_EQ(outs[0].bytes, expected.bytes);
  EXPECT_EQ(outs[2].bytes, expected.bytes);
  EXPECT_EQ(outs[1].bytes, std::vector<uint8_t>(expected.bytes.size()));
}

}  // namespace
}  // namespace penstock
