// The kernel against the host form, byte for byte. Skips itself where there is no CUDA device.
#include "penstock/stages/transform/normalize_stage_cuda.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/stage_runner.h"

namespace penstock {
namespace {

constexpr uint8_t kUntouched = 0xAB;
constexpr size_t kGap = 64;  // Between rows, to see what is written beside them.

struct Case {
  std::string options;
  int channels = 3;
  ImageSize size;
  size_t in_shift = 0, out_shift = 0;  // Bytes off from alignment; of out, in items.
  std::vector<int32_t> rows;
  int batch = 4;
};

class NormalizeCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create(0);
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
    auto stream = device_->CreateStream();
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }

  // Device memory of `bytes`, copied from `host`.
  Buffer Upload(const void* host, size_t bytes) {
    auto buffer = device_->AllocateDevice(bytes);
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_TRUE(device_
                    ->CopyToDevice(buffer->data(), static_cast<const std::byte*>(host), bytes,
                                   stream_->ref())
                    .ok());
    return *std::move(buffer);
  }
  template <class T>
  Buffer Upload(const std::vector<T>& host) {
    return Upload(host.data(), host.size() * sizeof(T));
  }

  void Check(const Case& c);

  std::shared_ptr<CudaDevice> device_;
  std::unique_ptr<Stream> stream_;
};

void NormalizeCudaTest::Check(const Case& c) {
  SCOPED_TRACE(absl::StrCat(c.options, " channels ", c.channels, ", ", c.size.height, " x ",
                            c.size.width, ", shifts ", c.in_shift, " ", c.out_shift));
  auto runner =
      StageRunner<NormalizeStage>::Create(c.options, FieldSpec::Image("image", c.size, c.channels));
  ASSERT_TRUE(runner.ok()) << runner.status();
  const auto* form = Registry::Default().FindDeviceForm(DeviceKind::kCuda, {"penstock.Normalize"});
  ASSERT_NE(form, nullptr);
  const SampleStage* host[] = {&runner->stage()};
  const std::unique_ptr<DeviceStage> stage = form->make(host);

  const size_t row_bytes = Region::Whole(c.size).area() * c.channels;
  const size_t item = ItemBytes(runner->out().dtype);
  const size_t in_pitch = row_bytes + c.in_shift, out_pitch = row_bytes * item + kGap;
  std::vector<uint8_t> in(in_pitch * c.batch + c.in_shift);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 2654435761U >> 13);
  std::vector<uint8_t> expected(out_pitch * c.batch + kGap, kUntouched), got(expected.size());
  const Buffer device_in = Upload(in), device_out = Upload(expected);

  std::vector<FieldView> in_views(c.batch), out_views(c.batch);
  for (int row = 0; row < c.batch; ++row) {
    const size_t in_at = row * in_pitch + c.in_shift;
    const size_t out_at = row * out_pitch + c.out_shift * item;
    in_views[row] = {.address = reinterpret_cast<uint64_t>(device_in.data()) + in_at,
                     .bytes = static_cast<int64_t>(row_bytes),
                     .region = Region::Whole(c.size),
                     .channels = c.channels};
    out_views[row] = in_views[row];
    out_views[row].address = reinterpret_cast<uint64_t>(device_out.data()) + out_at;
    out_views[row].dtype = runner->out().dtype;
    if (std::find(c.rows.begin(), c.rows.end(), row) == c.rows.end()) continue;
    TestImage image = TestImage::Make(Region::Whole(c.size), c.channels);
    std::memcpy(image.bytes.data(), in.data() + in_at, row_bytes);
    const auto result = runner->Run(image);
    ASSERT_TRUE(result.ok()) << result.status();
    std::memcpy(expected.data() + out_at, result->bytes.data(), result->bytes.size());
  }
  const Buffer device_in_views = Upload(in_views), device_out_views = Upload(out_views);
  const Buffer device_rows = Upload(c.rows);
  const auto table = [](const std::vector<FieldView>& views, const Buffer& buffer) {
    return Table<FieldView>{views.data(), reinterpret_cast<const FieldView*>(buffer.data())};
  };
  const Table<FieldView> views[] = {table(in_views, device_in_views),
                                    table(out_views, device_out_views)};
  const Table<std::byte> params[1] = {};
  const DeviceCall call = {
      .device = *device_,
      .stream = stream_->ref(),
      .rows = {c.rows.data(), reinterpret_cast<const int32_t*>(device_rows.data())},
      .count = static_cast<int32_t>(c.rows.size()),
      .views = views,
      .params = params,
      .descriptors = {},
      .scratch = nullptr};
  ASSERT_TRUE(stage->Enqueue(call).ok());
  ASSERT_TRUE(device_
                  ->CopyToHost(reinterpret_cast<std::byte*>(got.data()), device_out.data(),
                               got.size(), stream_->ref())
                  .ok());
  ASSERT_TRUE(device_->Synchronize(stream_->ref()).ok());
  EXPECT_TRUE(got == expected);
}

std::vector<std::string> AllOptions() {
  std::vector<std::string> all;
  for (const char* dtype : {"FLOAT32", "FLOAT16", "BFLOAT16"}) {
    for (const char* layout : {"NCHW", "NHWC"}) {
      all.push_back(absl::StrCat("mean: 0.45 std: 0.22 dtype: ", dtype, " layout: ", layout));
    }
  }
  return all;
}

TEST_F(NormalizeCudaTest, EqualsTheHostFormForAnySize) {
  for (const std::string& options : AllOptions()) {
    for (const ImageSize size : {ImageSize{1, 1},
                                 {3, 5},
                                 {32, 32},
                                 {223, 223},
                                 {224, 224},
                                 {64, 32},
                                 {17, 241},
                                 {1, 4099}}) {
      Check({.options = options, .size = size, .rows = {0, 1, 2, 3}});
    }
  }
}

TEST_F(NormalizeCudaTest, EqualsTheHostFormForAnyAlignmentAndChannels) {
  for (const std::string& options : AllOptions()) {
    for (int channels = 1; channels <= 4; ++channels) {
      for (const size_t shift : {0, 1, 2, 3, 4, 8, 15}) {
        Check({.options = options,
               .channels = channels,
               .size = {48, 64},
               .in_shift = shift,
               .out_shift = shift,
               .rows = {0, 1, 2, 3}});
      }
      Check(
          {.options = options, .channels = channels, .size = {48, 64}, .in_shift = 5, .rows = {1}});
      Check({.options = options,
             .channels = channels,
             .size = {48, 64},
             .out_shift = 1,
             .rows = {1}});
    }
  }
}

TEST_F(NormalizeCudaTest, TouchesTheListedRowsAlone) {
  constexpr char kOptions[] = "mean: [0.485, 0.456, 0.406] std: [0.229, 0.224, 0.225]";
  for (const std::vector<int32_t>& rows :
       {std::vector<int32_t>{3}, {2, 0}, {1, 3, 0}, {3, 2, 1, 0}}) {
    Check({.options = kOptions, .size = {30, 40}, .rows = rows});
  }
  std::vector<int32_t> many;
  for (int row = 0; row < 3000; row += 2) many.push_back(row);
  Check({.options = kOptions, .size = {32, 32}, .rows = many, .batch = 3000});
}

}  // namespace
}  // namespace penstock
