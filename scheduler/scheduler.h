// Scheduler: runs one ExecutionPlan. Admits batches as seats become free, sends them through the
// flow graph, and delivers them in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/scheduler/batch_sequence.h"
#include "penstock/scheduler/counters.h"
#include "penstock/scheduler/delivery.h"
#include "penstock/scheduler/device_queue.h"
#include "penstock/scheduler/device_steps.h"
#include "penstock/scheduler/encoded_cache.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/scheduler/flow.h"
#include "penstock/scheduler/host_steps.h"
#include "penstock/scheduler/io_pool.h"
#include "penstock/scheduler/overlap.h"
#include "penstock/scheduler/row_cache.h"
#include "penstock/scheduler/slab_tables.h"
#include "penstock/scheduler/statistics.h"

namespace penstock {

// What the outputs of one pipeline share.
struct SchedulerResources {
  std::shared_ptr<IoPool> io;
  std::shared_ptr<DeviceQueue> queue;
  std::shared_ptr<FlowArena> arena;
  std::function<void(absl::string_view line)> log;  // Never empty; any thread.
  bool check_leases = false;                        // See SeatPoolOptions.
  std::stop_token stop;                             // Of Create().
};

// Thread-safe. The destructor cancels and drains.
class Scheduler {
 public:
  // Allocates every pool and fills the cache. Errors: ResourceExhausted from the device;
  // InvalidArgument where samples, batch and world do not fit together; Cancelled if it was stopped
  // before it was done.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(ExecutionPlan plan,
                                                           SchedulerResources resources);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Begins to admit batches, and its clock to run. Once, before all that is below.
  void Start();

  // See Pipeline for all of these.
  absl::StatusOr<std::optional<DeviceBatch>> Next(absl::Duration timeout);
  void StartEpoch(int64_t epoch);
  void Cancel();
  void Finish();
  RunStatistics Statistics() const;

  const ExecutionPlan& plan() const { return plan_; }
  int64_t batches_per_epoch() const { return sequence_.batches_per_epoch(); }
  int64_t samples_per_epoch() const { return sequence_.samples_per_epoch(); }

 private:
  Scheduler(ExecutionPlan plan, SchedulerResources resources, const BatchSequence& sequence);
  absl::Status Prepare();
  absl::Status MakePool(const std::shared_ptr<Device>& device);
  absl::Status MakeCache(const std::shared_ptr<Device>& device);
  absl::Status WarmUp();
  FlowBodies Bodies();

  // Admission.
  void Admit();
  bool AdmitNext();
  void SubmitBatch(const BatchSpec& spec, Seat* seat);
  void StopAdmission();

  // Bodies of the flow.
  void Read(const EnvelopePtr& envelope, const std::function<void(const Chunk&)>& emit,
            const std::function<void()>& end);
  void ReadRows(const EnvelopePtr& envelope, const std::function<void(const Chunk&)>& emit,
                const std::function<void()>& end);
  void EndRead(const Chunk& chunk, const std::function<void(const Chunk&)>& emit);
  void Sample(const Chunk& chunk);
  // After Cancel() steps may have been left out: the later ones pass the batch through.
  void FailIfCancelled(BatchWork& work) const;
  void PrepareUpload(BatchWork& work);
  void Upload(const EnvelopePtr& envelope, std::function<void()> end);
  bool IsTimed(const BatchWork& work) const;
  absl::Status StartTiming(BatchWork& work, absl::Time submitted);
  absl::Status EnqueueSteps(BatchWork& work, int64_t uploaded);
  void EndUpload(BatchWork& work, absl::Status status);
  void Deliver(absl::Span<const EnvelopePtr> batches);
  Delivery::Item MakeItem(BatchWork& work);
  DeviceBatch MakeBatch(BatchWork& work);
  void NamePushed(const BatchWork& work, BatchInfo& info) const;
  void OnSeatsFree();

  // Rows that the device found damaged.
  void AwaitReport(const EnvelopePtr& envelope, std::function<void()> end);
  void OnReport(const EnvelopePtr& envelope, absl::Status status);
  // What the device has decoded of a batch that is not repaired yet.
  void CountDecoded(const BatchWork& work);
  void Repair(const Chunk& chunk);
  void UploadRepaired(const EnvelopePtr& envelope);

  // The short way, of a plan whose samples are all kept.
  void SubmitRows(const EnvelopePtr& envelope);
  void Rows(const Chunk& chunk);
  void FillRows(const Chunk& chunk);
  bool LaunchReady();  // On the queue's thread; true if there was anything.
  void Launch(absl::Span<const EnvelopePtr> batches);
  absl::Status LaunchTimed(absl::Span<const EnvelopePtr> batches, StreamRef stream);

  std::string WhyWaiting(absl::Duration waited, bool timed_out);
  // Of a batch whose gather is in its stream: the kept rows that cross the link.
  void CountGathered(const BatchWork& work);
  void CountDelivered(const std::optional<DeviceBatch>& batch);
  // Under delivered_mutex_.
  std::vector<StageStatistics> Stages(double seconds) const;
  double PerTimed(const OverlapLog::Totals& totals) const;  // Batches for each that was timed.

  // In the order of what outlives what: the flow goes first.
  ExecutionPlan plan_;
  SchedulerResources resources_;
  BatchSequence sequence_;
  std::shared_ptr<const BatchInfo::KeyOf> key_of_;
  RunCounters counters_;
  mutable OverlapLog overlap_;  // Taking stamps in changes nothing that a caller sees.
  SlabTables tables_;
  HostSteps host_;
  std::shared_ptr<SeatPool> pool_;
  std::unique_ptr<RowCache> cache_;              // Null where the plan has none.
  std::unique_ptr<EncodedCache> encoded_cache_;  // The same.
  std::unique_ptr<DeviceSteps> device_;
  Delivery delivery_;

  std::mutex admit_mutex_;
  std::optional<NextItem> pending_;  // Asked of the sequence, but there was no seat.
  int64_t generation_ = 0, slot_ = 0;
  int64_t submitted_ = 0;  // Batches: ends of epochs take no stream.
  bool admission_ended_ = false;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> failed_{false};  // A batch has failed: the run ends with it.
  std::atomic<int> in_flight_{0};    // Admitted and not yet in delivery.
  std::mutex launch_mutex_;
  std::vector<EnvelopePtr> to_launch_;  // In any order.
  int64_t launches_ = 0;                // Of the queue's thread alone.
  std::mutex works_mutex_;
  std::vector<std::unique_ptr<BatchWork>> idle_works_;

  mutable std::mutex delivered_mutex_;
  std::vector<EpochStatistics> epochs_;
  int64_t delivered_batches_ = 0, delivered_samples_ = 0, first_batch_samples_ = 0;
  absl::Time epoch_start_, first_admission_, first_delivery_, created_;
  std::atomic<int64_t> last_release_ns_{0};
  int64_t allocations_when_warm_ = -1;
  double cpu_at_start_ = 0, startup_seconds_ = 0;

  std::unique_ptr<Flow> flow_;
};

}  // namespace penstock
