// The sample stages of a graph in order: what Resolve settles for a sample, and its host form.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "penstock/stages/sample_stage.h"

namespace penstock {

// One stage of the chain.
struct ChainLink {
  std::string node;  // Name in the graph.
  std::shared_ptr<SampleStage> stage;
  uint64_t random_key = 0;
  FieldSpec out;  // The field's spec behind this stage.
};

// Sizes and regions of one sample's field at each of the n + 1 boundaries of n links.
struct Resolved {
  std::vector<ImageSize> size;
  std::vector<Region> region;
  size_t failed = 0;  // The link whose stage returned the last error.
};

// What one thread needs to run the chain. Move-only.
struct ChainWorker {
  std::vector<std::unique_ptr<WorkerState>> states;  // By link.
  Scratch source;                                    // What the source allocates.
  Scratch between[2];                                // Outputs that are not the row, in turn.
  Scratch context;                                   // What a stage allocates during a call.
  std::vector<size_t> live;   // Links that are no identity for this sample; kept for its memory.
  int64_t scratch_bytes = 0;  // Written into `between` so far.
};

// Immutable once planned; const calls are thread-safe, given a ChainWorker each. All links work on
// one field. Links [0, cut) lie before Collate, the others behind Upload.
class SampleChain {
 public:
  std::vector<ChainLink> links;
  size_t cut = 0;
  FieldSpec input;  // The field as the source gives it.

  ChainWorker MakeWorker() const;
  // Spec of the field at boundary b (0: the source's).
  const FieldSpec& spec(size_t boundary) const {
    return boundary == 0 ? input : links[boundary - 1].out;
  }

  // Forward through each stage's Resolve from `size`, the source's; then back from the whole row
  // through InputRegion to the first stage. params[i]: where link i's Params of this row go. An
  // error is the stage's own; resolved.failed says whose. `resolved` keeps its memory from sample
  // to sample.
  absl::Status Resolve(ImageSize size, const DrawKey& key, absl::Span<std::byte* const> params,
                       Resolved& resolved) const;

  // The host form of links [0, cut): reads `in`, writes `row` once. Stages that are the identity
  // for this sample are skipped; if all are, the row is one copy.
  absl::Status Process(const FieldView& in, Resolved& resolved, absl::Span<std::byte* const> params,
                       const FieldView& row, ChainWorker& worker) const;
};

}  // namespace penstock
