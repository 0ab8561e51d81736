// The CUDA gather forms of RandomCrop, RandomHorizontalFlip and Normalize: each byte of an image is
// read once, each result written once. The same bytes as the host forms.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/gather_stage.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/gather_images_kernel.h"
#include "penstock/stages/transform/normalize_stage.h"
#include "penstock/stages/transform/random_crop_stage.h"
#include "penstock/stages/transform/random_horizontal_flip_stage.h"

namespace penstock {
namespace {

std::vector<int32_t> WholeAxis(int32_t size) {
  std::vector<int32_t> places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

// What does not depend on which stages there are.
class ImageGather {
 public:
  absl::Status Prepare(const FieldSpec& in, ImageSize out, const NormalizeTable& table,
                       const std::vector<int32_t>& rows, const std::vector<int32_t>& columns,
                       const std::array<uint8_t, 4>& fill) {
    if (std::max(rows.size(), columns.size()) > GatherImagesShape::kMaxSide) {
      return absl::InvalidArgumentError(absl::StrCat("images of ", rows.size(), "x", columns.size(),
                                                     " with their padding are larger than ",
                                                     GatherImagesShape::kMaxSide));
    }
    const std::vector<int16_t> source_y(rows.begin(), rows.end());
    const std::vector<int16_t> source_x(columns.begin(), columns.end());
    uint32_t bits[NormalizeTable::kMaxChannels][256];
    for (int c = 0; c < NormalizeTable::kMaxChannels; ++c) {
      std::copy(table.bits[c].begin(), table.bits[c].end(), bits[c]);
    }
    GatherImagesShape shape = {.in_width = in.size().width,
                               .channels = static_cast<int32_t>(in.channels()),
                               .height = out.height,
                               .width = out.width,
                               .planar = table.planar,
                               .item_bytes = static_cast<int32_t>(ItemBytes(table.dtype)),
                               .bits = bits,
                               .source_y = source_y.data(),
                               .source_x = source_x.data(),
                               .padded_height = static_cast<int32_t>(rows.size()),
                               .padded_width = static_cast<int32_t>(columns.size())};
    std::copy(fill.begin(), fill.end(), shape.fill);
    kernel_ = std::make_unique<const GatherImagesKernel>(shape);
    return absl::OkStatus();
  }

  absl::Status Enqueue(const GatherCall& call) const {
    const CudaScope scope = static_cast<CudaDevice&>(call.device).Enter();
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return CudaStatus(kernel_->Launch(LaunchOf<GatherImageEntry>(call),
                                      static_cast<cudaStream_t>(call.stream.handle())),
                      "the gather of images");
  }

 private:
  std::unique_ptr<const GatherImagesKernel> kernel_;
};

// The sequence `Host...`, which ends with Normalize.
template <class... Host>
class GatherImagesCuda final : public GatherForm<DeviceKind::kCuda, Host...> {
 public:
  using GatherForm<DeviceKind::kCuda, Host...>::GatherForm;
  size_t entry_bytes() const override { return sizeof(GatherImageEntry); }

  absl::Status Prepare(absl::Span<const FieldSpec> specs) override {
    const ImageSize in = specs.front().size(), out = specs[kStages - 1].size();
    const NormalizeTable& table = this->template host<kStages - 1>().table();
    if constexpr (kCrops) {
      const RandomCropStage& crop = this->template host<0>();
      return gather_.Prepare(specs.front(), out, table, crop.SourceRows(in), crop.SourceColumns(in),
                             crop.fill());
    } else {
      return gather_.Prepare(specs.front(), out, table, WholeAxis(in.height), WholeAxis(in.width),
                             {});
    }
  }

  void Pack(absl::Span<const uint64_t> addresses, const ParamRows& params,
            std::byte* entries) const override {
    for (size_t row = 0; row < addresses.size(); ++row, entries += sizeof(GatherImageEntry)) {
      GatherImageEntry entry = {.address = addresses[row]};
      if constexpr (kCrops) {
        const auto& corner = params.At<RandomCropParams>(0, row);
        entry.y = static_cast<uint32_t>(corner.y);
        entry.x = static_cast<uint32_t>(corner.x);
      }
      if constexpr (kFlips) {
        if (params.At<RandomHorizontalFlipParams>(kStages - 2, row).flip != 0) {
          entry.y |= GatherImageEntry::kFlip;
        }
      }
      std::memcpy(entries, &entry, sizeof entry);
    }
  }

  absl::Status Enqueue(const GatherCall& call) const override { return gather_.Enqueue(call); }

 private:
  static constexpr size_t kStages = sizeof...(Host);
  static constexpr bool kCrops = (std::is_same_v<Host, RandomCropStage> || ...);
  static constexpr bool kFlips = (std::is_same_v<Host, RandomHorizontalFlipStage> || ...);
  ImageGather gather_;
};

const StageRegistration<
    GatherImagesCuda<RandomCropStage, RandomHorizontalFlipStage, NormalizeStage>>
    kCropFlipNormalize;
const StageRegistration<GatherImagesCuda<RandomCropStage, NormalizeStage>> kCropNormalize;
const StageRegistration<GatherImagesCuda<RandomHorizontalFlipStage, NormalizeStage>> kFlipNormalize;
const StageRegistration<GatherImagesCuda<NormalizeStage>> kNormalize;

}  // namespace
}  // namespace penstock
