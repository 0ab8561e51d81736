// Which sequences of stages, from the encoded image on, have one device form; and what their forms
// on all kinds of devices have in common.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "absl/types/span.h"
#include "penstock/stages/decode/decode_image_stage.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_descriptor.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/center_crop_stage.h"
#include "penstock/stages/transform/normalize_stage.h"
#include "penstock/stages/transform/random_crop_stage.h"
#include "penstock/stages/transform/random_horizontal_flip_stage.h"
#include "penstock/stages/transform/random_resized_crop_stage.h"
#include "penstock/stages/transform/resize_stage.h"

namespace penstock {

// Where `Stage` is among `Host...`, or -1.
template <class Stage, class... Host>
constexpr int IndexOfStage() {
  int index = 0;
  const bool found = ((std::is_same_v<Stage, Host> || (++index, false)) || ...);
  return found ? index : -1;
}

// `Base`, a form of the sequence `Host...`, with what the decoder of JPEG files asks for.
template <class Base, class... Host>
class ImageChainForm : public Base {
 public:
  using Base::Base;

  // A crop that may lie beside its image, in colours and patterns of its own, is the host's.
  bool accepts() const override {
    constexpr int kCrop = IndexOfStage<RandomCropStage, Host...>();
    if constexpr (kCrop >= 0) return !this->template host<kCrop>().pads();
    return true;
  }
  bool reports_status() const override { return true; }
  size_t descriptor_bytes() const override { return sizeof(JpegDescriptor); }
  bool Describe(const FieldView& encoded, ImageSize size, std::byte* descriptor) const override {
    JpegDescriptor described;
    const auto file = absl::MakeConstSpan(encoded.data(), static_cast<size_t>(encoded.bytes));
    if (!DescribeJpeg(file, described)) return false;
    if (ImageSize{described.height, described.width} != size) return false;
    std::memcpy(descriptor, &described, sizeof described);
    return true;
  }
};

// Registers `Form` of DecodeImage and `Geometry...`, with and without what may follow.
template <template <class...> class Form, class... Geometry>
struct GeometryRegistrations {
  StageRegistration<Form<DecodeImageStage, Geometry...>> geometry;
  StageRegistration<Form<DecodeImageStage, Geometry..., RandomHorizontalFlipStage>> flip;
  StageRegistration<Form<DecodeImageStage, Geometry..., NormalizeStage>> normalize;
  StageRegistration<Form<DecodeImageStage, Geometry..., RandomHorizontalFlipStage, NormalizeStage>>
      flip_normalize;
};

// Registers `Form` of all sequences; a constant at namespace scope.
template <template <class...> class Form>
struct ImageChainRegistrations {
  StageRegistration<Form<DecodeImageStage>> decode;
  GeometryRegistrations<Form, RandomResizedCropStage> random_resized_crop;
  GeometryRegistrations<Form, ResizeStage> resize;
  GeometryRegistrations<Form, CenterCropStage> center_crop;
  GeometryRegistrations<Form, RandomCropStage> random_crop;
  GeometryRegistrations<Form, ResizeStage, CenterCropStage> resize_center_crop;
  GeometryRegistrations<Form, ResizeStage, RandomCropStage> resize_random_crop;
};

}  // namespace penstock
