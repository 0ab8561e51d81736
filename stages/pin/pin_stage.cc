#include "penstock/stages/pin/pin_stage.h"

#include "absl/strings/str_cat.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<PinStage> kPlanForm;

}  // namespace

absl::Status PinStage::Apply(const google::protobuf::Message& message,
                             BatchSettings& settings) const {
  const auto& options = static_cast<const Pin&>(message);
  if (!Pin::Mode_IsValid(options.mode())) {
    return absl::InvalidArgumentError(absl::StrCat("mode is ", static_cast<int>(options.mode()),
                                                   ", expected PINNED, PAGEABLE or AUTO"));
  }
  settings.memory = options.mode() == Pin::PAGEABLE ? HostMemory::kPageable : HostMemory::kPinned;
  settings.or_pageable = options.mode() == Pin::AUTO;
  return absl::OkStatus();
}

}  // namespace penstock
