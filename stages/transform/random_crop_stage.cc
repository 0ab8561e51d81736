#include "penstock/stages/transform/random_crop_stage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/image_options.h"

namespace penstock {
namespace {

const StageRegistration<RandomCropStage> kHostForm;

absl::Status CheckPadding(const RandomCrop& options) {
  const int count = options.padding_size();
  if (count == 3 || count > 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "padding has ", count,
        " numbers, expected 1 (all sides), 2 (left and right, top and bottom) or 4 (left, top, "
        "right, bottom)"));
  }
  for (int32_t pixels : options.padding()) {
    if (pixels < 0 || pixels > kMaxImageSide) {
      return absl::InvalidArgumentError(
          absl::StrCat("padding is ", pixels, ", expected 0 to ", kMaxImageSide));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFill(const RandomCrop& options) {
  for (int32_t value : options.fill()) {
    if (value < 0 || value > 255) {
      return absl::InvalidArgumentError(absl::StrCat("fill is ", value, ", expected 0 to 255"));
    }
  }
  if (options.fill_size() > kMaxImageChannels) {
    return absl::InvalidArgumentError(
        absl::StrCat("fill has ", options.fill_size(), " values, expected one, or one a channel"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PadMode> ModeOf(RandomCrop::PaddingMode mode) {
  switch (mode) {
    case RandomCrop::PADDING_MODE_UNSPECIFIED:
    case RandomCrop::CONSTANT:
      return PadMode::kConstant;
    case RandomCrop::EDGE:
      return PadMode::kEdge;
    case RandomCrop::REFLECT:
      return PadMode::kReflect;
    case RandomCrop::SYMMETRIC:
      return PadMode::kSymmetric;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("padding_mode is ", static_cast<int>(mode),
                       ", expected CONSTANT, EDGE, REFLECT or SYMMETRIC"));
  }
}

int32_t Padded(const CropAxis& axis) {
  return axis.before + axis.size + axis.after + 2 * axis.more;
}

}  // namespace

absl::Status RandomCropStage::Init() {
  const auto mode = ModeOf(options().padding_mode());
  PENSTOCK_RETURN_IF_ERROR(CombineErrors(
      {CheckSidesOf(options()), CheckPadding(options()), CheckFill(options()), mode.status()}));
  mode_ = *mode;
  if (const int count = options().padding_size(); count > 0) {
    left_ = options().padding(0);
    top_ = options().padding(1 % count);
    right_ = options().padding(2 % count);
    bottom_ = options().padding(3 % count);
  }
  for (size_t c = 0; c < fill_.size() && options().fill_size() > 0; ++c) {
    fill_[c] = static_cast<uint8_t>(
        options().fill(std::min(static_cast<int>(c), options().fill_size() - 1)));
  }
  return absl::OkStatus();
}

absl::Status RandomCropStage::Infer(FieldSpec& field) const {
  PENSTOCK_RETURN_IF_ERROR(CheckUint8Image(field));
  if (options().fill_size() > 1 && options().fill_size() != field.channels()) {
    return absl::InvalidArgumentError(absl::StrCat("fill has ", options().fill_size(),
                                                   " values for ", field.channels(),
                                                   " channels, expected one, or one a channel"));
  }
  if (field.fixed()) {
    const absl::Status fits = CheckFits(field.size());
    if (!fits.ok()) return absl::InvalidArgumentError(fits.message());
  }
  field.set_size(size());
  return absl::OkStatus();
}

absl::Status RandomCropStage::CheckFits(ImageSize image) const {
  const ImageSize padded = {Padded(Rows(image)), Padded(Columns(image))};
  if (padded.height >= size().height && padded.width >= size().width) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "an image of ", ToString(image),
      padded == image ? std::string() : absl::StrCat(" (padded: ", ToString(padded), ")"),
      " is smaller than the crop of ", ToString(size()),
      "; set pad_if_needed, or put Resize before"));
}

absl::StatusOr<ImageSize> RandomCropStage::Places(ImageSize image) const {
  const ImageSize places = {Padded(Rows(image)) - size().height + 1,
                            Padded(Columns(image)) - size().width + 1};
  if (places.height < 1 || places.width < 1) return CheckFits(image);
  return places;
}

RandomCropParams RandomCropStage::Draw(ImageSize image, ImageSize places, Random& random) {
  RandomCropParams params = {.image = image};
  params.y = random.Uniform(places.height);
  params.x = random.Uniform(places.width);
  return params;
}

absl::StatusOr<RandomCropParams> RandomCropStage::Resolve(ImageSize& image, Random& random) const {
  PENSTOCK_ASSIGN_OR_RETURN(const ImageSize places, Places(image));
  return Draw(std::exchange(image, size()), places, random);
}

RowsStatus RandomCropStage::ResolveAll(ImageSize image, ImageSize out, const NodeDraws& draws,
                                       absl::Span<const int64_t> ids,
                                       ParamsColumn<RandomCropParams> params) const {
  const absl::StatusOr<ImageSize> places = Places(image);
  if (!places.ok()) return {places.status()};
  draws.ForEach(ids, [&](size_t i, Random& random) {
    params.Set(i, Draw(image, *places, random));
    return true;
  });
  return {CheckResolvedSize(size(), out)};
}

std::vector<int32_t> RandomCropStage::Sources(const CropAxis& axis) {
  std::vector<int32_t> sources(static_cast<size_t>(Padded(axis)));
  for (size_t i = 0; i < sources.size(); ++i) sources[i] = axis.Source(static_cast<int32_t>(i));
  return sources;
}

CropAxis RandomCropStage::Rows(ImageSize image) const {
  CropAxis axis = {.size = image.height, .before = top_, .after = bottom_, .mode = mode_};
  if (options().pad_if_needed()) axis.more = std::max(0, size().height - Padded(axis));
  return axis;
}

CropAxis RandomCropStage::Columns(ImageSize image) const {
  CropAxis axis = {.size = image.width, .before = left_, .after = right_, .mode = mode_};
  if (options().pad_if_needed()) axis.more = std::max(0, size().width - Padded(axis));
  return axis;
}

CropAxis RandomCropStage::Rows(const RandomCropParams& params) const {
  CropAxis axis = Rows(params.image);
  axis.offset = params.y;
  return axis;
}

CropAxis RandomCropStage::Columns(const RandomCropParams& params) const {
  CropAxis axis = Columns(params.image);
  axis.offset = params.x;
  return axis;
}

std::optional<Region> RandomCropStage::InputRegion(const RandomCropParams& params,
                                                   const Region& out) const {
  return CropInput(Rows(params), Columns(params), out);
}

bool RandomCropStage::IsIdentity(const RandomCropParams& params) const {
  return params.image == size() && Rows(params).shift() == 0 && Columns(params).shift() == 0;
}

absl::Status RandomCropStage::Process(const RandomCropParams& params, const FieldView& in,
                                      const FieldView& out, SampleContext&) const {
  Crop(Rows(params), Columns(params), absl::MakeConstSpan(fill_).first(out.channels), in, out);
  return absl::OkStatus();
}

}  // namespace penstock
