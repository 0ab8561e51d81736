// DeviceSteps: what is done to a batch on the device. Nothing here blocks.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/memory/device.h"
#include "penstock/scheduler/batch_work.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/scheduler/gather_steps.h"
#include "penstock/scheduler/slab_tables.h"

namespace penstock {

// One stream with its arena, which the batches of that stream use in turn.
struct StreamLane {
  Buffer arena;  // See arena.h. Before the stream, which drains first.
  std::unique_ptr<Stream> stream;
};

// Thread-safe for different batches.
class DeviceSteps {
 public:
  // Creates the plan's streams and arenas. All must outlive it.
  // `cache` is null where the plan has none.
  static absl::StatusOr<std::unique_ptr<DeviceSteps>> Create(Device& device,
                                                             const ExecutionPlan& plan,
                                                             const SlabTables& tables,
                                                             const RowCache* cache);

  // Null unless rows are gathered.
  const GatherSteps* gather() const { return gather_.get(); }

  // Before upload, since the tables go up with it: settles work.waves, writes the row lists, and
  // the addresses of what lies between two steps. Waves reuse the arena in stream order.
  void Prepare(BatchWork& work) const;
  // What goes up: the tables with the used part of the encoded bytes, then the finished rows.
  std::vector<CopyRange> Copies(const BatchWork& work) const;
  // Puts the device steps into the batch's stream.
  absl::Status Enqueue(const BatchWork& work) const;

  // Some rows may have to be repaired once the device is done.
  bool awaits_report(const BatchWork& work) const;
  // Brings back what the steps report, behind them in the batch's stream.
  absl::Status CopyReport(const BatchWork& work) const;
  // Copies samples to where they are kept on the device, in the batch's stream.
  absl::Status CopyFills(const BatchWork& work) const;
  // When the report is there: sets work.to_repair.
  void ReadReport(BatchWork& work) const;
  // Those rows now lie finished in the slab: what goes up again, to be followed by Enqueue(), which
  // then runs what is behind Upload for them alone.
  std::vector<CopyRange> PrepareRepaired(BatchWork& work) const;

  // The delivered tensors, in device memory.
  std::vector<std::pair<std::string, TensorView>> Tensors(const BatchWork& work) const;

  StreamRef stream(int i) const { return lanes_[i].stream->ref(); }
  int streams() const { return static_cast<int>(lanes_.size()); }
  size_t device_bytes() const;

 private:
  DeviceSteps(Device& device, const ExecutionPlan& plan, const SlabTables& tables)
      : device_(device), plan_(plan), tables_(tables) {}

  std::vector<Wave> PlaceWaves(const std::vector<DeviceStep>& steps, absl::Span<const int32_t> rows,
                               BatchWork& work) const;
  void PlaceBetween(const std::vector<DeviceStep>& steps, absl::Span<const int32_t> rows,
                    BatchWork& work) const;
  absl::Status EnqueueSteps(const std::vector<DeviceStep>& steps, size_t row_list,
                            absl::Span<const Wave> waves, const BatchWork& work) const;

  Device& device_;
  const ExecutionPlan& plan_;
  const SlabTables& tables_;
  std::unique_ptr<GatherSteps> gather_;
  std::vector<StreamLane> lanes_;
};

}  // namespace penstock
