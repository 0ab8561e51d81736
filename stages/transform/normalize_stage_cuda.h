// The CUDA form of penstock.Normalize. Needs no CUDA header.
#pragma once

#include "penstock/stages/device_stage.h"
#include "penstock/stages/transform/normalize_stage.h"

namespace penstock {

// One pass over memory: reads each byte and writes each result once. The same bytes as the host
// form.
class NormalizeCuda final : public DeviceForm<DeviceKind::kCuda, NormalizeStage> {
 public:
  using DeviceForm::DeviceForm;
  absl::Status Enqueue(const DeviceCall& call) const override;
};

}  // namespace penstock
