// A stage of your own. Copy these files to begin with: this one is as small as a stage gets that is
// random, changes the shape of its sample, and computes no more than what later stages need.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/stages/sample_stage.h"
#include "random_patch.pb.h"

namespace embed {

// What is settled for one sample before any pixel is touched; trivially copyable, at most 64 bytes.
struct PatchPlace {
  int32_t top = 0, left = 0;
};

// In the order in which they are called. RandomFieldStage is for stages with chance (Resolve is
// then handed a Random), FieldStage for those without.
class RandomPatchStage final : public penstock::RandomFieldStage<RandomPatch, PatchPlace> {
 public:
  // Once: checks the options. "size is 0, ...": the first word names the option, whose line in the
  // graph is then reported.
  absl::Status Init() override;
  // Once: from what comes in to what goes out.
  absl::Status Infer(penstock::FieldSpec& field) const override;
  // Per sample, also where a GPU does the rest: draws, and turns the size of the input into that of
  // the output.
  absl::StatusOr<PatchPlace> Resolve(penstock::ImageSize& size,
                                     penstock::Random& random) const override;
  // Per sample: which pixels of the input the pixels `out` of the output need. The stages before
  // this one make only those; a decoder decodes only those.
  std::optional<penstock::Region> InputRegion(const PatchPlace& place,
                                              const penstock::Region& out) const override;
  // Per sample, on any thread: writes out.region, reading within in.region.
  absl::Status Process(const PatchPlace& place, const penstock::FieldView& in,
                       const penstock::FieldView& out,
                       penstock::SampleContext& context) const override;
};

}  // namespace embed
