// The stage of penstock.CenterCrop; see center_crop.proto.
#pragma once

#include <optional>

#include "penstock/stages/sample_stage.h"
#include "penstock/stages/transform/center_crop.pb.h"
#include "penstock/stages/transform/geometry_params.h"

namespace penstock {

class CenterCropStage final : public FieldStage<CenterCrop, CenterCropParams> {
 public:
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::StatusOr<CenterCropParams> Resolve(ImageSize& image) const override;
  std::optional<Region> InputRegion(const CenterCropParams& params,
                                    const Region& out) const override;
  bool IsIdentity(const CenterCropParams& params) const override { return params.image == size(); }
  absl::Status Process(const CenterCropParams& params, const FieldView& in, const FieldView& out,
                       SampleContext& context) const override;

 private:
  ImageSize size() const { return {options().height(), options().width()}; }
};

}  // namespace penstock
