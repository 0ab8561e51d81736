// The stage of penstock.RandomHorizontalFlip; see random_horizontal_flip.proto.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/stages/sample_stage.h"
#include "penstock/stages/transform/geometry_params.h"
#include "penstock/stages/transform/random_horizontal_flip.pb.h"

namespace penstock {

class RandomHorizontalFlipStage final
    : public RandomFieldStage<RandomHorizontalFlip, RandomHorizontalFlipParams> {
 public:
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::StatusOr<RandomHorizontalFlipParams> Resolve(ImageSize& size,
                                                     Random& random) const override;
  RowsStatus ResolveAll(ImageSize size, ImageSize out, const NodeDraws& draws,
                        absl::Span<const int64_t> ids,
                        ParamsColumn<RandomHorizontalFlipParams> params) const override;
  std::optional<Region> InputRegion(const RandomHorizontalFlipParams& params,
                                    const Region& out) const override;
  bool IsIdentity(const RandomHorizontalFlipParams& params) const override {
    return params.flip == 0;
  }
  absl::Status Process(const RandomHorizontalFlipParams& params, const FieldView& in,
                       const FieldView& out, SampleContext& context) const override;

 private:
  RandomHorizontalFlipParams Draw(ImageSize size, Random& random) const {
    return {random.Uniform01() < probability_ ? 1 : 0, size.width};
  }

  double probability_ = 0.5;
};

}  // namespace penstock
