// The plan stage of penstock.Upload; see upload.proto.
#pragma once

#include "penstock/stages/plan_stage.h"
#include "penstock/stages/upload/upload.pb.h"

namespace penstock {

class UploadStage final : public PlanStage {
 public:
  using Options = Upload;
  PlanRole role() const override { return PlanRole::kUpload; }
  absl::Status Apply(const google::protobuf::Message& message,
                     BatchSettings& settings) const override;
};

}  // namespace penstock
