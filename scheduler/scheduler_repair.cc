// Batches of which the device reports what it found: they are delivered once the host has seen that
// all is well, or has repaired what is not.
#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock {

// On the device's thread, as what follows it until the rows are tasks.
void Scheduler::AwaitReport(const EnvelopePtr& envelope, std::function<void()> end) {
  BatchWork& work = *envelope->work;
  if (work.failed()) return end();
  if (!device_->awaits_report(work)) {
    CountDecoded(work);
    return end();
  }
  work.end_upload = std::move(end);
  resources_.queue->Await(work.ready_event, [this, envelope](absl::Status status) {
    OnReport(envelope, std::move(status));
  });
}

void Scheduler::CountDecoded(const BatchWork& work) {
  if (!plan_.chain.input.encoded) return;
  const auto damaged = std::count_if(work.to_repair.begin(), work.to_repair.end(),
                                     [&](int row) { return !work.rows[row].deferred; });
  counters_.decoded_device += static_cast<int64_t>(work.waves.encoded.size()) - damaged;
}

void Scheduler::OnReport(const EnvelopePtr& envelope, absl::Status status) {
  BatchWork& work = *envelope->work;
  if (status.ok()) {
    device_->ReadReport(work);
    host_.EndFill(work);
    CountDecoded(work);
  }
  if (!status.ok()) work.Fail(0, std::move(status));
  // Moved out first: what it ends may destroy the rest.
  if (work.failed() || work.to_repair.empty()) return std::exchange(work.end_upload, nullptr)();
  const int rows = static_cast<int>(work.to_repair.size());
  work.remaining = rows;
  const absl::Time ready = absl::Now();
  std::vector<IoPool::Job> jobs;
  for (int i = 0; i < rows; ++i) {
    const Chunk chunk = {envelope, i, i + 1, ready};
    const int row = work.to_repair[i];
    if (!host_.must_read_again(work, row)) {
      flow_->SubmitRepair(chunk);
      continue;
    }
    jobs.emplace_back([this, chunk, row](FileReader& reader) {
      if (!cancelled_) host_.ReadAgain(*chunk.envelope->work, row, reader);
      flow_->SubmitRepair(chunk);
    });
  }
  if (!jobs.empty()) resources_.io->Submit(std::move(jobs));
}

void Scheduler::Repair(const Chunk& chunk) {
  BatchWork& work = *chunk.envelope->work;
  FailIfCancelled(work);
  if (!work.failed()) host_.Repair(chunk);
  if (--work.remaining > 0) return;
  if (work.failed()) return std::exchange(work.end_upload, nullptr)();
  UploadRepaired(chunk.envelope);
}

void Scheduler::UploadRepaired(const EnvelopePtr& envelope) {
  BatchWork& work = *envelope->work;
  UploadJob job;
  job.order = work.spec.sequence;
  job.stream = device_->stream(work.stream);
  job.piece_bytes = plan_.piece_bytes;
  job.copies = device_->PrepareRepaired(work);
  job.ready = work.ready_event;
  for (const CopyRange& copy : job.copies) {
    counters_.bytes_uploaded += static_cast<int64_t>(copy.bytes);
    counters_.slab_writes += static_cast<int64_t>(copy.bytes);
  }
  job.before = [] { return absl::OkStatus(); };
  job.after = [this, &work] { return device_->Enqueue(work); };
  job.done = [this, envelope](absl::Status status) {
    BatchWork& repaired = *envelope->work;
    EndUpload(repaired, std::move(status));
    std::exchange(repaired.end_upload, nullptr)();
  };
  resources_.queue->Submit(std::move(job));
}

}  // namespace penstock
