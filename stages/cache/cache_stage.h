// The plan stage of penstock.Cache; see cache.proto.
#pragma once

#include "penstock/stages/cache/cache.pb.h"
#include "penstock/stages/plan_stage.h"

namespace penstock {

class CacheStage final : public PlanStage {
 public:
  using Options = Cache;
  PlanRole role() const override { return PlanRole::kCache; }
  absl::Status Apply(const google::protobuf::Message& message,
                     BatchSettings& settings) const override;
};

}  // namespace penstock
