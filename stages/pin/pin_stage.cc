#include "penstock/stages/pin/pin_stage.h"

#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<PinStage> kPlanForm;

}  // namespace

absl::Status PinStage::Apply(const google::protobuf::Message& message,
                             BatchSettings& settings) const {
  const auto& options = static_cast<const Pin&>(message);
  settings.memory = options.mode() == Pin::PAGEABLE ? HostMemory::kPageable : HostMemory::kPinned;
  return absl::OkStatus();
}

}  // namespace penstock
