// The stage of penstock.RandomResizedCrop; see random_resized_crop.proto.
#pragma once

#include <optional>

#include "penstock/stages/sample_stage.h"
#include "penstock/stages/transform/geometry_params.h"
#include "penstock/stages/transform/random_resized_crop.pb.h"
#include "penstock/stages/transform/resample.h"

namespace penstock {

class RandomResizedCropStage final
    : public RandomFieldStage<RandomResizedCrop, RandomResizedCropParams, Resampler> {
 public:
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::StatusOr<RandomResizedCropParams> Resolve(ImageSize& image, Random& random) const override;
  std::optional<Region> InputRegion(const RandomResizedCropParams& params,
                                    const Region& out) const override;
  bool IsIdentity(const RandomResizedCropParams& params) const override;
  absl::Status Process(const RandomResizedCropParams& params, const FieldView& in,
                       const FieldView& out, SampleContext& context) const override;

  // How an image is computed, for device forms.
  Resampling MakeResampling(const RandomResizedCropParams& params) const;

 private:
  struct Range {
    double low, high;
  };
  ImageSize size() const { return {options().height(), options().width()}; }
  std::optional<Region> Draw(ImageSize image, Random& random) const;
  Region Fallback(ImageSize image) const;

  Range scale_ = {0.08, 1.0};
  Range ratio_ = {3.0 / 4.0, 4.0 / 3.0};
  Range log_ratio_ = {};
};

}  // namespace penstock
