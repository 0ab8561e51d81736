// The stage of penstock.RandomCrop; see random_crop.proto.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "penstock/stages/sample_stage.h"
#include "penstock/stages/transform/geometry_params.h"
#include "penstock/stages/transform/padded_crop.h"
#include "penstock/stages/transform/random_crop.pb.h"

namespace penstock {

class RandomCropStage final : public RandomFieldStage<RandomCrop, RandomCropParams> {
 public:
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::StatusOr<RandomCropParams> Resolve(ImageSize& image, Random& random) const override;
  RowsStatus ResolveAll(ImageSize image, ImageSize out, const NodeDraws& draws,
                        absl::Span<const int64_t> ids,
                        ParamsColumn<RandomCropParams> params) const override;
  std::optional<Region> InputRegion(const RandomCropParams& params,
                                    const Region& out) const override;
  bool IsIdentity(const RandomCropParams& params) const override;
  absl::Status Process(const RandomCropParams& params, const FieldView& in, const FieldView& out,
                       SampleContext& context) const override;

  // For device forms: of an image of that size, what stands at each place of the padded axis: an
  // index of the image, or -1 for fill(). A crop takes size() places from Params' corner on.
  std::vector<int32_t> SourceRows(ImageSize image) const { return Sources(Rows(image)); }
  std::vector<int32_t> SourceColumns(ImageSize image) const { return Sources(Columns(image)); }
  const std::array<uint8_t, 4>& fill() const { return fill_; }
  // Whether a crop may lie beyond its image.
  bool pads() const {
    return left_ > 0 || top_ > 0 || right_ > 0 || bottom_ > 0 || options().pad_if_needed();
  }

 private:
  static std::vector<int32_t> Sources(const CropAxis& axis);
  ImageSize size() const { return {options().height(), options().width()}; }
  absl::Status CheckFits(ImageSize image) const;
  // How many places the crop's corner may have on each axis; an error where it does not fit.
  absl::StatusOr<ImageSize> Places(ImageSize image) const;
  static RandomCropParams Draw(ImageSize image, ImageSize places, Random& random);
  // The axes of a crop whose corner is at 0, 0 of the padded image.
  CropAxis Rows(ImageSize image) const;
  CropAxis Columns(ImageSize image) const;
  CropAxis Rows(const RandomCropParams& params) const;
  CropAxis Columns(const RandomCropParams& params) const;

  int32_t left_ = 0, top_ = 0, right_ = 0, bottom_ = 0;
  PadMode mode_ = PadMode::kConstant;
  std::array<uint8_t, 4> fill_{};
};

}  // namespace penstock
