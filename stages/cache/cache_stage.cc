#include "penstock/stages/cache/cache_stage.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<CacheStage> kPlanForm;

constexpr int64_t kMaxBytes = int64_t{1} << 50;

absl::Status CheckBytes(const Cache& options) {
  if (!options.has_bytes()) {
    return absl::InvalidArgumentError("bytes: it is required: the memory to spend");
  }
  if (options.bytes() >= 1 && options.bytes() <= kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("bytes is ", options.bytes(), ", expected 1 to ", kMaxBytes));
}

absl::StatusOr<CachePlace> PlaceOf(Cache::Place place) {
  switch (place) {
    case Cache::PLACE_UNSPECIFIED:
    case Cache::AUTO:
      return CachePlace::kAuto;
    case Cache::HOST:
      return CachePlace::kHost;
    case Cache::PINNED:
      return CachePlace::kPinned;
    case Cache::DEVICE:
      return CachePlace::kDevice;
    default:
      return absl::InvalidArgumentError(absl::StrCat("place is ", static_cast<int>(place),
                                                     ", expected AUTO, HOST, PINNED or DEVICE"));
  }
}

}  // namespace

absl::Status CacheStage::Apply(const google::protobuf::Message& message,
                               BatchSettings& settings) const {
  const auto& options = static_cast<const Cache&>(message);
  const auto place = PlaceOf(options.place());
  PENSTOCK_RETURN_IF_ERROR(CombineErrors({place.status(), CheckBytes(options)}));
  settings.cache_place = *place;
  settings.cache_bytes = options.bytes();
  return absl::OkStatus();
}

}  // namespace penstock
