#include "random_patch_stage.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/stages/registry.h"

namespace embed {
namespace {

// The one line that makes [type.googleapis.com/embed.RandomPatch] mean this class.
const penstock::StageRegistration<RandomPatchStage> kHostForm;

constexpr int32_t kMaxSize = 65535;

}  // namespace

absl::Status RandomPatchStage::Init() {
  if (options().size() >= 1 && options().size() <= kMaxSize) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("size is ", options().size(), ", expected 1 to ", kMaxSize));
}

absl::Status RandomPatchStage::Infer(penstock::FieldSpec& field) const {
  if (!field.is_image()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", field.name, "' is ", field.ToString(), ", expected an image"));
  }
  field.set_size({options().size(), options().size()});
  return absl::OkStatus();
}

absl::StatusOr<PatchPlace> RandomPatchStage::Resolve(penstock::ImageSize& size,
                                                     penstock::Random& random) const {
  const int32_t side = options().size();
  if (size.height < side || size.width < side) {
    // Only the cause: node, batch and sample are put before it.
    return absl::FailedPreconditionError(absl::StrCat("image is ", size.height, " x ", size.width,
                                                      ", smaller than a patch of ", side));
  }
  PatchPlace place;
  place.top = random.Uniform(size.height - side + 1);
  place.left = random.Uniform(size.width - side + 1);
  size = {side, side};
  return place;
}

std::optional<penstock::Region> RandomPatchStage::InputRegion(const PatchPlace& place,
                                                              const penstock::Region& out) const {
  return penstock::Region{out.y + place.top, out.x + place.left, out.height, out.width};
}

absl::Status RandomPatchStage::Process(const PatchPlace& place, const penstock::FieldView& in,
                                       const penstock::FieldView& out,
                                       penstock::SampleContext&) const {
  // at() takes coordinates of whole images, so that nobody has to know which parts are in memory.
  const penstock::Region& part = out.region;
  for (int32_t y = part.y; y < part.y + part.height; ++y) {
    std::memcpy(out.at(y, part.x), in.at(y + place.top, part.x + place.left),
                static_cast<size_t>(part.width) * out.channels);
  }
  return absl::OkStatus();
}

}  // namespace embed
