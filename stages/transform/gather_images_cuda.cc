// The CUDA gather forms of RandomCrop, RandomHorizontalFlip and Normalize: each byte of an image is
// read once, each result written once. The same bytes as the host forms.
#include <algorithm>
#include <cstring>
#include <numeric>
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
    if (std::max(rows.size(), columns.size()) > GatherImagesWork::kMaxSide) {
      return absl::InvalidArgumentError(
          absl::StrCat("images of ", rows.size(), "x", columns.size(),
                       " with their padding are larger than ", GatherImagesWork::kMaxSide));
    }
    in_ = in;
    out_ = out;
    rows_.assign(rows.begin(), rows.end());
    columns_.assign(columns.begin(), columns.end());
    fill_ = fill;
    planar_ = table.planar;
    item_bytes_ = static_cast<int32_t>(ItemBytes(table.dtype));
    for (int c = 0; c < NormalizeTable::kMaxChannels; ++c) {
      std::copy(table.bits[c].begin(), table.bits[c].end(), bits_[c]);
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(const GatherCall& call) const {
    static_assert(kMaxCarries <= GatherImagesWork::kMaxCarries);
    GatherImagesWork work;
    work.entries = reinterpret_cast<const GatherImageEntry*>(call.entries);
    work.count = call.count;
    work.in_height = in_.size().height;
    work.in_width = in_.size().width;
    work.channels = static_cast<int32_t>(in_.channels());
    work.height = out_.height;
    work.width = out_.width;
    work.out = call.out;
    work.planar = planar_;
    work.item_bytes = item_bytes_;
    work.bits = bits_;
    work.source_y = rows_.data();
    work.source_x = columns_.data();
    work.padded_height = static_cast<int32_t>(rows_.size());
    work.padded_width = static_cast<int32_t>(columns_.size());
    std::copy(fill_.begin(), fill_.end(), work.fill);
    for (const Carry& carry : call.carries) {
      work.carry[work.carries++] = {carry.to, carry.from, carry.bytes};
    }
    const CudaScope scope = static_cast<CudaDevice&>(call.device).Enter();
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return CudaStatus(LaunchGatherImages(work, static_cast<cudaStream_t>(call.stream.handle())),
                      "the gather of images");
  }

 private:
  FieldSpec in_;
  ImageSize out_;
  std::vector<int16_t> rows_, columns_;  // See GatherImagesWork.
  std::array<uint8_t, 4> fill_{};
  bool planar_ = true;
  int32_t item_bytes_ = 2;
  uint32_t bits_[NormalizeTable::kMaxChannels][256];
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
      return gather_.Prepare(specs.front(), out, table, crop.SourceRows(in),
                             crop.SourceColumns(in), crop.fill());
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
