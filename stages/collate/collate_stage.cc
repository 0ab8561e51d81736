#include "penstock/stages/collate/collate_stage.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<CollateStage> kPlanForm;

constexpr int64_t kMax = std::numeric_limits<int32_t>::max();

absl::Status CheckBatchSize(const Collate& options) {
  if (options.batch_size() >= 1 && options.batch_size() <= kMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "batch_size is ", options.has_batch_size() ? absl::StrCat(options.batch_size()) : "not set",
      ", expected 1 to ", kMax));
}

absl::Status CheckShape(const Collate& options) {
  for (int64_t extent : options.shape()) {
    if (extent < 1 || extent > kMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape has an extent of ", extent, ", expected 1 to ", kMax));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTail(const Collate& options) {
  if (Collate::Tail_IsValid(options.tail())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tail is ", static_cast<int>(options.tail()), ", expected PARTIAL or DROP"));
}

}  // namespace

absl::Status CollateStage::Apply(const google::protobuf::Message& message,
                                 BatchSettings& settings) const {
  const auto& options = static_cast<const Collate&>(message);
  PENSTOCK_RETURN_IF_ERROR(
      CombineErrors({CheckBatchSize(options), CheckShape(options), CheckTail(options)}));
  settings.batch_size = options.batch_size();
  settings.tail = options.tail() == Collate::DROP ? Tail::kDrop : Tail::kPartial;
  settings.shape.assign(options.shape().begin(), options.shape().end());
  return absl::OkStatus();
}

}  // namespace penstock
