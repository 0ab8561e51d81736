// The kernels behind the JPEG decoder by themselves: from planes to 224 x 224 float16. Needs CUDA.
//
//   image_chain_bench [IMAGES [WIDTH HEIGHT]]
//
// IMAGES (256) photographs of WIDTH x HEIGHT (500 x 375), 4:2:0, are decoded once, in the regions
// that RandomResizedCrop draws. Then each kernel is run by itself several times: microseconds, the
// median. `colour` makes RGB pixels of the same regions in memory, which the others do not need.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/stages/decode/image_chain/image_chain_kernels.h"
#include "penstock/stages/decode/image_chain/testing/test_chain.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_colour_kernel.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_call.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"
#include "penstock/tests/bench/figures.h"

namespace penstock::bench {
namespace {

constexpr int kSide = 224;
constexpr int kChannels = 3;
constexpr int kTimed = 21;
constexpr int kFiles = 16;  // Different ones.

class Bench {
 public:
  Bench(std::shared_ptr<CudaDevice> device, int images, ImageSize size)
      : device_(std::move(device)), images_(images) {
    MakeCall(size);
    MakeWork();
  }

  void Print() {
    const cudaStream_t stream = call_->stream();
    float sum = 0;
    sum += Time("plan", [&] { return LaunchImagePlan(work_, stream); });
    sum += Time("rows", [&] { return LaunchImageRows(work_, stream); });
    sum += Time("columns", [&] { return LaunchImageColumns(work_, stream); });
    std::printf("%-8s %8.1f us: %.0f images/s\n", "sum", sum, images_ * 1e6 / sum);
    Time("colour", [&] { return LaunchJpegColour(colour_, stream); });
  }

 private:
  void MakeCall(ImageSize size) {
    const SampleChain chain =
        MakeChain(FieldSpec::Image("image", {}),
                  {{"RandomResizedCrop", "height: 224 width: 224"}, {"RandomHorizontalFlip", ""}});
    for (int i = 0; i < kFiles; ++i) {
      JpegSample sample;
      sample.width = size.width;
      sample.height = size.height;
      sample.seed = static_cast<uint32_t>(i);
      files_.push_back(MakeJpeg(sample));
    }
    std::vector<JpegCall::Input> inputs(images_);
    crops_.resize(images_);
    flips_.resize(images_);
    Resolved resolved;
    for (int i = 0; i < images_; ++i) {
      // The call has image i in this row.
      const int row = images_ - 1 - i;
      std::byte* const params[] = {reinterpret_cast<std::byte*>(&crops_[row]),
                                   reinterpret_cast<std::byte*>(&flips_[row])};
      Check(chain.Resolve(size, {.id = static_cast<uint64_t>(i)}, params, resolved));
      inputs[i].file = files_[i % kFiles];
      inputs[i].region = resolved.region[0];
      PENSTOCK_CHECK(DescribeJpeg(inputs[i].file, inputs[i].descriptor), "a file of our own");
    }
    auto call = JpegCall::Create(device_, inputs);
    Check(call.status());
    call_ = *std::move(call);
    Check(call_->Enqueue());
    Check(call_->Fetch());
  }

  void MakeWork() {
    const JpegImages& images = call_->images();
    std::vector<JpegPlanes> planes;
    std::vector<FieldView> out(images_), colours(images_);
    int64_t colour_bytes = 0;
    for (int i = 0; i < images_; ++i) {
      planes.push_back(call_->planes()[images.host_rows[i]]);
      colour_bytes += images.host_pixels[i].region.area() * kChannels;
    }
    constexpr int64_t kOutBytes = int64_t{kSide} * kSide * kChannels * 2;
    const uint64_t out_at = Address(Allocate(kOutBytes * images_));
    uint64_t colour_at = Address(Allocate(colour_bytes));
    size_t scratch = ImageChainCallBytes(images_);
    for (int i = 0; i < images_; ++i) {
      const Region& region = images.host_pixels[i].region;
      out[i].address = out_at + i * kOutBytes;
      out[i].region = {0, 0, kSide, kSide};
      colours[i].address = colour_at;
      colours[i].region = region;
      colour_at += region.area() * kChannels;
      scratch += ImageChainImageBytes(region, out[i].region, ResampleFilter::kBilinear);
    }
    host_out_ = out;
    work_ = {
        .count = images.count,
        .rows = images.rows,
        .host_rows = images.host_rows,
        .descriptors = images.descriptors,
        .planes = Upload(planes),
        .pixels = images.pixels,
        .host_pixels = images.host_pixels,
        .out = Upload(out),
        .host_out = host_out_.data(),
        .geometry = {.random_resized_crop = reinterpret_cast<const std::byte*>(Upload(crops_)),
                     .random_horizontal_flip = reinterpret_cast<const std::byte*>(Upload(flips_))},
        .method = {},
        .item_bytes = 2,
        .planar = true,
        .host_results = results_,
        .scratch = Allocate(static_cast<int64_t>(scratch))};
    colour_ = {.rows = images.rows,
               .count = images.count,
               .host_rows = images.host_rows,
               .planes = work_.planes,
               .pixels = Upload(colours),
               .host_pixels = images.host_pixels};
  }

  static uint64_t Address(std::byte* data) { return reinterpret_cast<uint64_t>(data); }
  std::byte* Allocate(int64_t bytes) {
    auto buffer = device_->AllocateDevice(static_cast<size_t>(bytes));
    Check(buffer.status());
    return buffers_.emplace_back(*std::move(buffer)).data();
  }
  template <class T>
  const T* Upload(const std::vector<T>& host) {
    const size_t bytes = host.size() * sizeof(T);
    std::byte* const to = Allocate(static_cast<int64_t>(bytes));
    Check(device_->CopyToDevice(to, reinterpret_cast<const std::byte*>(host.data()), bytes,
                                StreamRef::PerThreadDefault()));
    Check(device_->Synchronize(StreamRef::PerThreadDefault()));
    return reinterpret_cast<const T*>(to);
  }

  float Time(const char* name, const std::function<cudaError_t()>& launch) {
    const CudaScope scope = device_->Enter();
    Check(scope.status());
    cudaEvent_t begin, end;
    Check(CudaStatus(cudaEventCreate(&begin), "cudaEventCreate"));
    Check(CudaStatus(cudaEventCreate(&end), "cudaEventCreate"));
    std::vector<float> times;
    for (int i = 0; i < kTimed; ++i) {
      float milliseconds = 0;
      Check(CudaStatus(cudaEventRecord(begin, call_->stream()), "cudaEventRecord"));
      Check(CudaStatus(launch(), name));
      Check(CudaStatus(cudaEventRecord(end, call_->stream()), "cudaEventRecord"));
      Check(CudaStatus(cudaEventSynchronize(end), name));
      Check(CudaStatus(cudaEventElapsedTime(&milliseconds, begin, end), name));
      times.push_back(milliseconds * 1000);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::nth_element(times.begin(), times.begin() + kTimed / 2, times.end());
    std::printf("%-8s %8.1f us\n", name, times[kTimed / 2]);
    return times[kTimed / 2];
  }

  struct alignas(16) Crop {
    RandomResizedCropParams params;
  };
  struct alignas(16) Flip {
    RandomHorizontalFlipParams params;
  };

  const std::shared_ptr<CudaDevice> device_;
  const int images_;
  std::vector<std::vector<std::byte>> files_;
  std::vector<Crop> crops_;
  std::vector<Flip> flips_;
  std::unique_ptr<JpegCall> call_;
  std::vector<Buffer> buffers_;
  std::vector<FieldView> host_out_;
  uint32_t results_[kChannels + 1][256] = {};
  ImageChainWork work_;
  JpegColourWork colour_;
};

int Run(int count, char** arguments) {
  int images = 256;
  ImageSize size = {375, 500};
  const bool good = (count < 2 || absl::SimpleAtoi(arguments[1], &images)) && count != 3 &&
                    (count < 4 || (absl::SimpleAtoi(arguments[2], &size.width) &&
                                   absl::SimpleAtoi(arguments[3], &size.height)));
  if (!good || images < 1 || size.width < 1 || size.height < 1) {
    std::fputs("usage: image_chain_bench [IMAGES [WIDTH HEIGHT]]\n", stderr);
    return 2;
  }
  auto device = CudaDevice::Create(0);
  Check(device.status());
  Bench(*std::move(device), images, size).Print();
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Run(argc, argv); }
