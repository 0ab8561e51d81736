// The plan stage of penstock.Collate; see collate.proto.
#pragma once

#include "penstock/stages/collate/collate.pb.h"
#include "penstock/stages/plan_stage.h"

namespace penstock {

class CollateStage final : public PlanStage {
 public:
  using Options = Collate;
  PlanRole role() const override { return PlanRole::kCollate; }
  absl::Status Apply(const google::protobuf::Message& message,
                     BatchSettings& settings) const override;
};

}  // namespace penstock
