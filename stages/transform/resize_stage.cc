#include "penstock/stages/transform/resize_stage.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/image_options.h"

namespace penstock {
namespace {

const StageRegistration<ResizeStage> kHostForm;

// Sides before it is known that they are in bounds.
struct WideSize {
  int64_t height, width;
};

// torchvision's _compute_resized_output_size, whose int() rounds down; here with at least 1 pixel.
WideSize OutputSize(const Resize& options, ImageSize in) {
  if (options.has_size()) return {options.size().height(), options.size().width()};
  const int64_t in_shorter = std::min(in.height, in.width),
                in_longer = std::max(in.height, in.width);
  int64_t shorter = options.shorter_edge(), longer = options.longer_edge();
  if (options.has_longer_edge()) {
    shorter = longer * in_shorter / in_longer;
  } else {
    longer = shorter * in_longer / in_shorter;
    if (options.has_max_size() && longer > options.max_size()) {
      shorter = options.max_size() * shorter / longer;
      longer = options.max_size();
    }
  }
  shorter = std::max<int64_t>(shorter, 1);
  longer = std::max<int64_t>(longer, 1);
  return in.width <= in.height ? WideSize{longer, shorter} : WideSize{shorter, longer};
}

absl::StatusOr<ImageSize> CheckedOutputSize(const Resize& options, ImageSize in) {
  const WideSize out = OutputSize(options, in);
  if (std::max(out.height, out.width) > kMaxImageSide || out.height * out.width > kMaxImageArea) {
    return absl::FailedPreconditionError(
        absl::StrCat("an image of ", ToString(in), " would be resized to height ", out.height,
                     ", width ", out.width, "; a side may have ", kMaxImageSide, " and an image ",
                     kMaxImageArea, " pixels"));
  }
  return ImageSize{static_cast<int32_t>(out.height), static_cast<int32_t>(out.width)};
}

absl::Status CheckTarget(const Resize& options) {
  switch (options.target_case()) {
    case Resize::kShorterEdge:
      return CheckSide("shorter_edge", options.shorter_edge());
    case Resize::kLongerEdge:
      return CheckSide("longer_edge", options.longer_edge());
    case Resize::kSize:
      return Prefixed("size", CheckSidesOf(options.size()));
    case Resize::TARGET_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "nothing says what size to resize to: set shorter_edge, longer_edge or size");
}

absl::Status CheckMaxSize(const Resize& options) {
  // Without a target there is nothing that it could be compared with.
  if (!options.has_max_size() || options.target_case() == Resize::TARGET_NOT_SET) {
    return absl::OkStatus();
  }
  if (!options.has_shorter_edge()) {
    return absl::InvalidArgumentError("max_size is for shorter_edge only");
  }
  if (options.max_size() > options.shorter_edge() && options.max_size() <= kMaxImageSide) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("max_size is ", options.max_size(), ", expected more than shorter_edge (",
                   options.shorter_edge(), "), up to ", kMaxImageSide));
}

}  // namespace

absl::Status ResizeStage::Init() {
  return CombineErrors({CheckInterpolation(options().interpolation()), CheckTarget(options()),
                        CheckMaxSize(options())});
}

absl::Status ResizeStage::Infer(FieldSpec& field) const {
  PENSTOCK_RETURN_IF_ERROR(CheckUint8Image(field));
  if (options().has_size()) {
    field.set_size({options().size().height(), options().size().width()});
  } else if (field.fixed()) {
    const absl::StatusOr<ImageSize> out = CheckedOutputSize(options(), field.size());
    if (!out.ok()) return absl::InvalidArgumentError(out.status().message());
    field.set_size(*out);
  }
  return absl::OkStatus();
}

absl::StatusOr<ResizeParams> ResizeStage::Resolve(ImageSize& size) const {
  PENSTOCK_ASSIGN_OR_RETURN(const ImageSize out, CheckedOutputSize(options(), size));
  const ResizeParams params = {size, out};
  size = out;
  return params;
}

std::optional<Region> ResizeStage::InputRegion(const ResizeParams& params,
                                               const Region& out) const {
  return ResampleInput(MakeResampling(params), out);
}

absl::Status ResizeStage::Process(const ResizeParams& params, const FieldView& in,
                                  const FieldView& out, SampleContext& context) const {
  context.state<Resampler>().Run(MakeResampling(params), in, out, context);
  return absl::OkStatus();
}

Resampling ResizeStage::MakeResampling(const ResizeParams& params) const {
  return {.box = Region::Whole(params.in),
          .size = params.out,
          .interpolation = options().interpolation(),
          .antialias = !options().has_antialias() || options().antialias()};
}

}  // namespace penstock
