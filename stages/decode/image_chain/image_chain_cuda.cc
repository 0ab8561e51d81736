// The CUDA forms of image chains: the bytes of the host forms, of JPEG files that the device
// decodes. No image is in device memory as a whole but as the decoder's planes of what is needed.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/decode/image_chain/image_chain.h"
#include "penstock/stages/decode/image_chain/image_chain_kernels.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_colour_kernel.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_decoder_cuda.h"
#include "penstock/stages/device_stage.h"

namespace penstock {
namespace {

// What a form needs to know of its stages.
struct ChainOptions {
  // Places in the sequence; -1: there is none.
  int random_resized_crop = -1, resize = -1, center_crop = -1, random_crop = -1, flip = -1;
  bool changes_geometry = false;
  ResampleMethod method = {};
  const NormalizeTable* normalize = nullptr;
};

ResampleMethod MethodOf(const Resampling& resampling) {
  return {.nearest = resampling.interpolation == NEAREST,
          .filter = resampling.interpolation == BICUBIC ? ResampleFilter::kBicubic
                                                        : ResampleFilter::kBilinear,
          .antialias = resampling.antialias};
}

// The decoder's part of scratch memory comes first.
class ImageChain {
 public:
  ImageChain(const ChainOptions& options, const DeviceCall& call)
      : options_(options),
        call_(call),
        stream_(static_cast<cudaStream_t>(call.stream.handle())),
        images_({.count = call.count,
                 .host_rows = call.rows.host,
                 .rows = call.rows.device,
                 .host_descriptors = reinterpret_cast<const JpegDescriptor*>(call.descriptors.host),
                 .descriptors = reinterpret_cast<const JpegDescriptor*>(call.descriptors.device),
                 .files = call.in().device,
                 .host_pixels = call.views[1].host,
                 .pixels = call.views[1].device,
                 .status = call.status}) {}

  cudaError_t Enqueue() const {
    JpegDecoded decoded;
    if (const cudaError_t error = EnqueueJpegPlanes(images_, call_.scratch, stream_, decoded);
        error != cudaSuccess) {
      return error;
    }
    return options_.changes_geometry ? EnqueueChain(decoded) : EnqueueColour(decoded);
  }

 private:
  cudaError_t EnqueueColour(const JpegDecoded& decoded) const {
    return LaunchJpegColour({.rows = images_.rows,
                             .count = images_.count,
                             .host_rows = images_.host_rows,
                             .planes = decoded.planes,
                             .pixels = images_.pixels,
                             .host_pixels = images_.host_pixels},
                            stream_);
  }

  cudaError_t EnqueueChain(const JpegDecoded& decoded) const {
    uint32_t results[NormalizeTable::kMaxChannels][256];
    const ImageChainWork work = Work(decoded, results);
    if (const cudaError_t error = LaunchImagePlan(work, stream_); error != cudaSuccess) {
      return error;
    }
    if (const cudaError_t error = LaunchImageRows(work, stream_); error != cudaSuccess) {
      return error;
    }
    return LaunchImageColumns(work, stream_);
  }

  ImageChainWork Work(const JpegDecoded& decoded, uint32_t (*results)[256]) const {
    ImageChainWork work = {.count = images_.count,
                           .rows = images_.rows,
                           .host_rows = images_.host_rows,
                           .descriptors = images_.descriptors,
                           .planes = decoded.planes,
                           .pixels = images_.pixels,
                           .host_pixels = images_.host_pixels,
                           .out = call_.out().device,
                           .host_out = call_.out().host,
                           .geometry = {.random_resized_crop = Params(options_.random_resized_crop),
                                        .resize = Params(options_.resize),
                                        .center_crop = Params(options_.center_crop),
                                        .random_crop = Params(options_.random_crop),
                                        .random_horizontal_flip = Params(options_.flip)},
                           .method = options_.method,
                           .scratch = decoded.end};
    if (const NormalizeTable* table = options_.normalize; table != nullptr) {
      for (int c = 0; c < NormalizeTable::kMaxChannels; ++c) {
        std::copy(table->bits[c].begin(), table->bits[c].end(), results[c]);
      }
      work.item_bytes = static_cast<int>(ItemBytes(table->dtype));
      work.planar = table->planar;
      work.host_results = results;
    }
    return work;
  }

  const std::byte* Params(int stage) const {
    return stage < 0 ? nullptr : call_.params[stage].device;
  }

  const ChainOptions& options_;
  const DeviceCall& call_;
  const cudaStream_t stream_;
  const JpegImages images_;
};

template <class... Host>
class ImageChainCuda final
    : public ImageChainForm<DeviceForm<DeviceKind::kCuda, Host...>, Host...> {
 public:
  using ImageChainForm<DeviceForm<DeviceKind::kCuda, Host...>, Host...>::ImageChainForm;

  size_t scratch_bytes(int64_t batch) const override {
    return JpegCallScratchBytes(batch) + ImageChainCallBytes(batch);
  }
  size_t row_scratch_bytes(const RowShape& row) const override {
    const Region &pixels = row.regions[1], &out = row.regions.back();
    const size_t decoder =
        JpegImageScratchBytes(*reinterpret_cast<const JpegDescriptor*>(row.descriptor), pixels);
    if (!kChangesGeometry) return decoder;
    return decoder + ImageChainImageBytes(pixels, out, Options().method.filter);
  }
  absl::Status Enqueue(const DeviceCall& call) const override {
    if (call.count == 0) return absl::OkStatus();
    const CudaScope scope = static_cast<CudaDevice&>(call.device).Enter();
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return CudaStatus(ImageChain(Options(), call).Enqueue(), "decoding images");
  }

 private:
  template <class Stage>
  static constexpr int kIndex = IndexOfStage<Stage, Host...>();
  static constexpr bool kChangesGeometry = sizeof...(Host) > 1;

  ChainOptions Options() const {
    ChainOptions options = {.random_resized_crop = kIndex<RandomResizedCropStage>,
                            .resize = kIndex<ResizeStage>,
                            .center_crop = kIndex<CenterCropStage>,
                            .random_crop = kIndex<RandomCropStage>,
                            .flip = kIndex<RandomHorizontalFlipStage>,
                            .changes_geometry = kChangesGeometry};
    if constexpr (kIndex<RandomResizedCropStage> >= 0) {
      options.method =
          MethodOf(this->template host<kIndex<RandomResizedCropStage>>().MakeResampling({}));
    }
    if constexpr (kIndex<ResizeStage> >= 0) {
      options.method = MethodOf(this->template host<kIndex<ResizeStage>>().MakeResampling({}));
    }
    if constexpr (kIndex<NormalizeStage> >= 0) {
      options.normalize = &this->template host<kIndex<NormalizeStage>>().table();
    }
    return options;
  }
};

const ImageChainRegistrations<ImageChainCuda> kForms;

}  // namespace
}  // namespace penstock
