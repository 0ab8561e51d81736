// The contract of a gather form: what runs on the device when samples are kept ready for it (see
// Cache). One launch takes each row of a batch, or of several, from where it lies, in the order of
// the batch, runs a whole chain of sample stages on it, and writes the delivered tensor.
//
// The host works out one packed entry a row, in page-locked memory that the device reads in place;
// nothing else goes up with a batch whose rows are all kept.
//
//   class CropNormalizeGather final : public GatherForm<DeviceKind::kCuda, RandomCropStage,
//                                                       NormalizeStage> { ... };
//   const StageRegistration<CropNormalizeGather> kCudaForm;
//   const StageRegistration<SimGather<RandomCropStage, NormalizeStage>> kSimForm;  // sim_gather.h
#pragma once

#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "penstock/memory/device.h"
#include "penstock/stages/form_of.h"
#include "penstock/stages/gather_launch.h"
#include "penstock/stages/sample_stage.h"

namespace penstock {

// The Params of each stage of a sequence, for `count` rows.
struct ParamRows {
  const std::byte* first = nullptr;  // Of row 0.
  size_t stride = 0;                 // From row to row.
  absl::Span<const size_t> offsets;  // By stage, within a row.

  template <class Params>
  const Params& At(size_t stage, int64_t row) const {
    return *std::launder(reinterpret_cast<const Params*>(first + row * stride + offsets[stage]));
  }
};

// One batch of a launch.
struct GatherBatch {
  const std::byte* entries = nullptr;  // `count` of entry_bytes().
  int32_t count = 0;
  std::byte* out = nullptr;         // `count` rows without gaps.
  absl::Span<const Carry> carries;  // By fixed field.
};

// What one Enqueue() is to do. All memory stays valid until the batches' work is done; the struct
// itself only during the call. The device can read and write all of it.
struct GatherCall {
  Device& device;
  StreamRef stream;
  absl::Span<const GatherBatch> batches;  // 1 to kMaxGathered, with kMaxCarries at most.
};

// The same for a form's kernel, whose entries are of type `Entry`.
template <class Entry>
GatherLaunch<Entry> LaunchOf(const GatherCall& call) {
  GatherLaunch<Entry> launch;
  for (const GatherBatch& batch : call.batches) {
    launch.batch[launch.batches++] = {reinterpret_cast<const Entry*>(batch.entries), batch.out,
                                      launch.rows};
    launch.rows += batch.count;
    for (const Carry& carry : batch.carries) launch.carry[launch.carries++] = carry;
  }
  return launch;
}

// Thread-safe. Made from the host stages themselves, which outlive it. All samples have one size.
class GatherStage {
 public:
  virtual ~GatherStage() = default;
  // A multiple of 16.
  virtual size_t entry_bytes() const = 0;
  // `specs`: the field at each boundary of the sequence, all fixed; the first is what is kept.
  // Called once, at plan time, before all else. InvalidArgument: this form does not do it.
  virtual absl::Status Prepare(absl::Span<const FieldSpec> specs) = 0;
  // On the host: writes the entries of addresses.size() rows. An address may have any alignment;
  // those of a cache's own memory are multiples of 16. A form may
  // read all 16-byte words that a row touches.
  virtual void Pack(absl::Span<const uint64_t> addresses, const ParamRows& params,
                    std::byte* entries) const = 0;
  // Puts the work into call.stream. Neither synchronises nor allocates. Where there are no rows at
  // all, it may leave out what the batches carry.
  virtual absl::Status Enqueue(const GatherCall& call) const = 0;
};

// What authors derive from: the gather form of the sequence `Host...` on devices of kind `Kind`.
template <DeviceKind Kind, class... Host>
class GatherForm : public FormOf<GatherStage, Kind, Host...> {
 public:
  using FormOf<GatherStage, Kind, Host...>::FormOf;
};

}  // namespace penstock
