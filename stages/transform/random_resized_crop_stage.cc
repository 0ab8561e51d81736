#include "penstock/stages/transform/random_resized_crop_stage.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/image_options.h"
#include "penstock/stages/transform/portable_math.h"

namespace penstock {
namespace {

const StageRegistration<RandomResizedCropStage> kHostForm;

constexpr int kTries = 10;
constexpr double kMinRatio = 1e-3, kMaxRatio = 1e3;

// Two numbers in order, both in [least, most]; written so that NaN is out of range.
bool IsRange(const google::protobuf::RepeatedField<double>& values, double least, double most) {
  return values.size() == 2 && values[0] >= least && values[0] <= values[1] && values[1] <= most;
}

absl::Status RangeError(absl::string_view option,
                        const google::protobuf::RepeatedField<double>& values,
                        absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(option, " is [", absl::StrJoin(values, ", "),
                                                 "], expected two numbers, the lesser first, ",
                                                 expected));
}

// Both may be left out.
absl::Status CheckScale(const google::protobuf::RepeatedField<double>& scale) {
  if (scale.empty() || (IsRange(scale, 0.0, 1.0) && scale[0] != 0.0)) return absl::OkStatus();
  return RangeError("scale", scale, "above 0 and up to 1");
}

absl::Status CheckRatio(const google::protobuf::RepeatedField<double>& ratio) {
  if (ratio.empty() || IsRange(ratio, kMinRatio, kMaxRatio)) return absl::OkStatus();
  return RangeError("ratio", ratio, absl::StrCat(kMinRatio, " to ", kMaxRatio));
}

}  // namespace

absl::Status RandomResizedCropStage::Init() {
  const auto &scale = options().scale(), &ratio = options().ratio();
  PENSTOCK_RETURN_IF_ERROR(
      CombineErrors({CheckSidesOf(options()), CheckInterpolation(options().interpolation()),
                     CheckScale(scale), CheckRatio(ratio)}));
  if (!scale.empty()) scale_ = {scale[0], scale[1]};
  if (!ratio.empty()) ratio_ = {ratio[0], ratio[1]};
  log_ratio_ = {PortableLog(ratio_.low), PortableLog(ratio_.high)};
  return absl::OkStatus();
}

absl::Status RandomResizedCropStage::Infer(FieldSpec& field) const {
  PENSTOCK_RETURN_IF_ERROR(CheckUint8Image(field));
  field.set_size(size());
  return absl::OkStatus();
}

absl::StatusOr<RandomResizedCropParams> RandomResizedCropStage::Resolve(ImageSize& image,
                                                                        Random& random) const {
  RandomResizedCropParams params = {.box = {}, .image = image};
  std::optional<Region> box;
  for (int i = 0; i < kTries && !box; ++i) box = Draw(image, random);
  params.box = box ? *box : Fallback(image);
  image = size();
  return params;
}

// Plain + - * / sqrt and our own logarithm and exponential: the same box on every machine.
std::optional<Region> RandomResizedCropStage::Draw(ImageSize image, Random& random) const {
  const double area =
      static_cast<double>(image.height) * image.width * random.Uniform(scale_.low, scale_.high);
  const double ratio = PortableExp(random.Uniform(log_ratio_.low, log_ratio_.high));
  const int64_t width = RoundHalfToEven(std::sqrt(area * ratio));
  const int64_t height = RoundHalfToEven(std::sqrt(area / ratio));
  if (width < 1 || width > image.width || height < 1 || height > image.height) return std::nullopt;
  Region box = {.height = static_cast<int32_t>(height), .width = static_cast<int32_t>(width)};
  box.y = random.Uniform(image.height - box.height + 1);
  box.x = random.Uniform(image.width - box.width + 1);
  return box;
}

Region RandomResizedCropStage::Fallback(ImageSize image) const {
  int64_t height = image.height, width = image.width;
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (ratio < ratio_.low) {
    height = RoundHalfToEven(static_cast<double>(width) / ratio_.low);
  } else if (ratio > ratio_.high) {
    width = RoundHalfToEven(static_cast<double>(height) * ratio_.high);
  }
  Region box = {.height = static_cast<int32_t>(std::max<int64_t>(height, 1)),
                .width = static_cast<int32_t>(std::max<int64_t>(width, 1))};
  box.y = (image.height - box.height) / 2;
  box.x = (image.width - box.width) / 2;
  return box;
}

std::optional<Region> RandomResizedCropStage::InputRegion(const RandomResizedCropParams& params,
                                                          const Region& out) const {
  return ResampleInput(MakeResampling(params), out);
}

bool RandomResizedCropStage::IsIdentity(const RandomResizedCropParams& params) const {
  return params.box == Region::Whole(params.image) && params.image == size();
}

absl::Status RandomResizedCropStage::Process(const RandomResizedCropParams& params,
                                             const FieldView& in, const FieldView& out,
                                             SampleContext& context) const {
  context.state<Resampler>().Run(MakeResampling(params), in, out, context);
  return absl::OkStatus();
}

Resampling RandomResizedCropStage::MakeResampling(const RandomResizedCropParams& params) const {
  return {.box = params.box,
          .size = size(),
          .interpolation = options().interpolation(),
          .antialias = !options().has_antialias() || options().antialias()};
}

}  // namespace penstock
