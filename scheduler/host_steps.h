// HostSteps: what is done to a batch on the host. Bodies only: who runs them is flow's business.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "penstock/scheduler/batch_work.h"
#include "penstock/scheduler/cache_steps.h"
#include "penstock/scheduler/counters.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/scheduler/row_cache.h"
#include "penstock/scheduler/slab_tables.h"
#include "penstock/stages/read/file_reader.h"

namespace penstock {

// Thread-safe for different rows of a batch and for different batches. Failures go into the work,
// which is then passed over by the later steps.
class HostSteps {
 public:
  // All must outlive it.
  HostSteps(const ExecutionPlan& plan, const SlabTables& tables, RunCounters& counters);
  // Before the first batch: where kept samples are.
  void SetCache(const RowCache* cache) { cache_ = cache; }
  void SetCache(EncodedCache& cache) { encoded_.emplace(plan_, cache); }

  // Asks the source where each sample's bytes are. True if all their sizes are known.
  bool Locate(BatchWork& work) const;
  // On an I/O thread: sizes of rows [begin, end).
  void Measure(BatchWork& work, int begin, int end, FileReader& reader) const;
  // Gives each row its place, by a prefix sum in batch order: in the slab's encoded part while it
  // fits, else in the seat's staging buffer.
  void Place(BatchWork& work) const;
  // All samples are in memory, and used where they are.
  bool nothing_to_read(const BatchWork& work) const;
  // On an I/O thread: the bytes of rows [begin, end). Returns how many of them are there.
  int Read(BatchWork& work, int begin, int end, FileReader& reader) const;
  // Finish, Probe, Describe, Resolve: some microseconds a row, so that the thread that has read its
  // bytes does it. True if sample stages are left to be run on the host: rows that go up finished.
  bool Settle(const Chunk& chunk) const;
  // Settles the rows that are not, and runs what is left of them. Of a batch that is gathered only
  // Finish, for the rows that are not kept.
  void Process(const Chunk& chunk) const;
  // Rows work.to_repair[begin, end) of a batch that the device is done with: reads those again
  // whose bytes are not on the host (on an I/O thread, before), and runs the host form.
  bool must_read_again(const BatchWork& work, int row) const;
  void ReadAgain(BatchWork& work, int row, FileReader& reader) const;
  void Repair(const Chunk& chunk) const;
  // Once all rows are done: the batch stages, and the tables' rest.
  void Complete(BatchWork& work) const;
  // Once the device is done, and its report is known: what it keeps.
  void EndFill(const BatchWork& work) const {
    if (encoded_) encoded_->EndFill(work);
  }

  // What is read is the row, where it belongs.
  bool reads_finished_rows() const { return stored_rows_ && plan_.chain.cut == 0; }
  // Most rows need nothing but to be settled.
  bool settles_most_rows() const { return plan_.has_encoded_part(); }
  // Rows a task: so many that a task is worth its cost. Of a batch, once its rows have places.
  int chunk_rows() const { return chunk_rows_; }
  int chunk_rows(const BatchWork& work) const;

 private:
  void RunBatchSteps(BatchWork& work) const;
  // Calls body(worker), and counts its time, its scratch memory and the rows that it says it did.
  template <class Body>
  void WithWorker(const Chunk& chunk, Body body) const;
  // Calls body(row, worker) for the rows of a chunk, and fails the work with what it gives. A row
  // counts once: when it is settled.
  template <class Body>
  void ForEachRow(const Chunk& chunk, Body body) const;
  absl::Status SettleRow(BatchWork& work, int row, ChainWorker& worker) const;
  absl::Status EndRow(BatchWork& work, int row, ChainWorker& worker) const;
  bool IsReady(const RowWork& row) const;
  void TakeKept(BatchWork& work, int row) const;
  absl::Status RepairRow(BatchWork& work, int row, ChainWorker& worker) const;
  absl::Status RunHostForm(BatchWork& work, int row, ChainWorker& worker) const;
  void FailRow(BatchWork& work, int row, const absl::Status& status) const;
  absl::Status FinishRow(BatchWork& work, int row, ChainWorker& worker) const;
  // Decides whether a row of an encoded plan takes its host form after all.
  bool TakesHostForm(BatchWork& work, int row) const;
  std::unique_ptr<ChainWorker> TakeWorker() const;
  void GiveBack(std::unique_ptr<ChainWorker> worker) const;

  const ExecutionPlan& plan_;
  const SlabTables& tables_;
  RunCounters& counters_;
  const RowCache* cache_ = nullptr;
  std::optional<CacheSteps> encoded_;
  bool stored_rows_;  // The source's; see StoredRows.
  int chunk_rows_ = 1;
  mutable std::mutex workers_mutex_;
  mutable std::vector<std::unique_ptr<ChainWorker>> workers_;  // Idle ones.
};

}  // namespace penstock
