// The stage of penstock.Resize; see resize.proto.
#pragma once

#include <optional>

#include "penstock/stages/sample_stage.h"
#include "penstock/stages/transform/geometry_params.h"
#include "penstock/stages/transform/resample.h"
#include "penstock/stages/transform/resize.pb.h"

namespace penstock {

class ResizeStage final : public FieldStage<Resize, ResizeParams, Resampler> {
 public:
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::StatusOr<ResizeParams> Resolve(ImageSize& size) const override;
  std::optional<Region> InputRegion(const ResizeParams& params, const Region& out) const override;
  bool IsIdentity(const ResizeParams& params) const override { return params.in == params.out; }
  absl::Status Process(const ResizeParams& params, const FieldView& in, const FieldView& out,
                       SampleContext& context) const override;

  // How an image is computed, for device forms.
  Resampling MakeResampling(const ResizeParams& params) const;
};

}  // namespace penstock
