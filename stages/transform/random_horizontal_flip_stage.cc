#include "penstock/stages/transform/random_horizontal_flip_stage.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/image_options.h"

namespace penstock {
namespace {

const StageRegistration<RandomHorizontalFlipStage> kHostForm;

Region Mirrored(const RandomHorizontalFlipParams& params, const Region& part) {
  if (params.flip == 0) return part;
  return {part.y, params.width - part.x - part.width, part.height, part.width};
}

template <int kChannels>
void CopyBackwards(const uint8_t* from, int32_t pixels, uint8_t* to) {
  to += int64_t{pixels} * kChannels;
  for (int32_t i = 0; i < pixels; ++i, from += kChannels) {
    to -= kChannels;
    std::memcpy(to, from, kChannels);
  }
}

}  // namespace

absl::Status RandomHorizontalFlipStage::Init() {
  if (!options().has_probability()) return absl::OkStatus();
  probability_ = options().probability();
  if (probability_ >= 0.0 && probability_ <= 1.0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("probability is ", probability_, ", expected 0 to 1"));
}

absl::Status RandomHorizontalFlipStage::Infer(FieldSpec& field) const {
  return CheckUint8Image(field);
}

absl::StatusOr<RandomHorizontalFlipParams> RandomHorizontalFlipStage::Resolve(
    ImageSize& size, Random& random) const {
  return Draw(size, random);
}

RowsStatus RandomHorizontalFlipStage::ResolveAll(
    ImageSize size, ImageSize out, const NodeDraws& draws, absl::Span<const int64_t> ids,
    ParamsColumn<RandomHorizontalFlipParams> params) const {
  draws.ForEach(ids, [&](size_t i, Random& random) {
    params.Set(i, Draw(size, random));
    return true;
  });
  return {CheckResolvedSize(size, out)};
}

std::optional<Region> RandomHorizontalFlipStage::InputRegion(
    const RandomHorizontalFlipParams& params, const Region& out) const {
  return Mirrored(params, out);
}

absl::Status RandomHorizontalFlipStage::Process(const RandomHorizontalFlipParams& params,
                                                const FieldView& in, const FieldView& out,
                                                SampleContext&) const {
  const Region &part = out.region, source = Mirrored(params, part);
  const auto copy = in.channels == 1   ? CopyBackwards<1>
                    : in.channels == 2 ? CopyBackwards<2>
                    : in.channels == 3 ? CopyBackwards<3>
                                       : CopyBackwards<4>;
  for (int32_t y = part.y; y < part.y + part.height; ++y) {
    if (params.flip == 0) {
      std::memcpy(out.at(y, part.x), in.at(y, part.x), int64_t{part.width} * in.channels);
    } else {
      copy(in.at(y, source.x), part.width, out.at(y, part.x));
    }
  }
  return absl::OkStatus();
}

}  // namespace penstock
