// The plan stage of penstock.Pin; see pin.proto.
#pragma once

#include "penstock/stages/pin/pin.pb.h"
#include "penstock/stages/plan_stage.h"

namespace penstock {

class PinStage final : public PlanStage {
 public:
  using Options = Pin;
  PlanRole role() const override { return PlanRole::kPin; }
  absl::Status Apply(const google::protobuf::Message& message,
                     BatchSettings& settings) const override;
};

}  // namespace penstock
