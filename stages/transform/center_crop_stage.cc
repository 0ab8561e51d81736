#include "penstock/stages/transform/center_crop_stage.h"

#include <array>
#include <cstdint>

#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/image_options.h"
#include "penstock/stages/transform/padded_crop.h"

namespace penstock {
namespace {

const StageRegistration<CenterCropStage> kHostForm;

// torchvision's center_crop: int(round(spare / 2.0)), where round() takes the even one of two
// equally near integers; and (missing // 2) pixels of padding before the image.
int32_t Offset(int32_t image, int32_t crop) {
  if (crop > image) return -((crop - image) / 2);
  const int32_t spare = image - crop, half = spare / 2;
  return spare % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

CropAxis Axis(int32_t size, int32_t offset) { return {.size = size, .offset = offset}; }

}  // namespace

absl::Status CenterCropStage::Init() { return CheckSidesOf(options()); }

absl::Status CenterCropStage::Infer(FieldSpec& field) const {
  PENSTOCK_RETURN_IF_ERROR(CheckUint8Image(field));
  field.set_size(size());
  return absl::OkStatus();
}

absl::StatusOr<CenterCropParams> CenterCropStage::Resolve(ImageSize& image) const {
  const CenterCropParams params = {image, Offset(image.height, size().height),
                                   Offset(image.width, size().width)};
  image = size();
  return params;
}

std::optional<Region> CenterCropStage::InputRegion(const CenterCropParams& params,
                                                   const Region& out) const {
  return CropInput(Axis(params.image.height, params.y), Axis(params.image.width, params.x), out);
}

absl::Status CenterCropStage::Process(const CenterCropParams& params, const FieldView& in,
                                      const FieldView& out, SampleContext&) const {
  constexpr std::array<uint8_t, kMaxImageChannels> kBlack = {};
  Crop(Axis(params.image.height, params.y), Axis(params.image.width, params.x),
       absl::MakeConstSpan(kBlack).first(out.channels), in, out);
  return absl::OkStatus();
}

}  // namespace penstock
