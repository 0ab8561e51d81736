#include "penstock/stages/upload/upload_stage.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<UploadStage> kPlanForm;

constexpr int kMaxStreams = 32;
constexpr int64_t kMinPiece = int64_t{1} << 16, kMaxPiece = int64_t{1} << 30;

absl::Status CheckStreams(const Upload& options) {
  if (options.streams() >= 0 && options.streams() <= kMaxStreams) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("streams is ", options.streams(),
                                                 ", expected 1 to ", kMaxStreams,
                                                 ", or 0 to let the planner choose"));
}

absl::Status CheckPieceBytes(const Upload& options) {
  if (!options.has_piece_bytes() ||
      (options.piece_bytes() >= kMinPiece && options.piece_bytes() <= kMaxPiece)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("piece_bytes is ", options.piece_bytes(),
                                                 ", expected ", kMinPiece, " to ", kMaxPiece));
}

}  // namespace

absl::Status UploadStage::Apply(const google::protobuf::Message& message,
                                BatchSettings& settings) const {
  const auto& options = static_cast<const Upload&>(message);
  PENSTOCK_RETURN_IF_ERROR(CombineErrors({CheckStreams(options), CheckPieceBytes(options)}));
  settings.streams = options.streams();
  settings.piece_bytes = options.piece_bytes();
  return absl::OkStatus();
}

}  // namespace penstock
