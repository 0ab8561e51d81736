// Batches whose rows are all kept on the device, or within its reach: nothing is read, nothing goes
// up, and batches that wait for the device's thread share a launch.
#include <algorithm>
#include <array>

#include "absl/time/clock.h"
#include "penstock/memory/spin_lock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock {
namespace {

// To hand over a message takes the device's thread as long as a worker takes for many rows: a
// worker hands on a part of what it gets.
constexpr int kMessageRows = 2 * GatherSteps::kChunkRows;

}  // namespace

void Scheduler::SubmitRows(const EnvelopePtr& envelope) {
  envelope->hold = flow_->Hold();
  const int rows = envelope->work->count();
  envelope->work->remaining = std::max(1, Chunks(rows, GatherSteps::kChunkRows));
  for (int begin = 0; begin == 0 || begin < rows; begin += kMessageRows) {
    flow_->SubmitRows({envelope, begin, std::min(rows, begin + kMessageRows), {}});
  }
}

void Scheduler::Rows(const Chunk& chunk) {
  const int end = std::min(chunk.end, chunk.begin + GatherSteps::kChunkRows);
  // The rest may be taken by others meanwhile.
  if (end < chunk.end) flow_->SubmitRows({chunk.envelope, end, chunk.end, {}});
  FillRows({chunk.envelope, chunk.begin, end, {}});
}

void Scheduler::FillRows(const Chunk& chunk) {
  const absl::Time start = absl::Now();
  BatchWork& work = *chunk.envelope->work;
  FailIfCancelled(work);
  if (!work.failed()) {
    work.spec.Ids(chunk.begin,
                  absl::MakeSpan(work.ids).subspan(chunk.begin, chunk.end - chunk.begin));
    device_->gather()->Fill(work, chunk.begin, chunk.end);
  }
  counters_.host.Add(absl::Now() - start, absl::ZeroDuration(),
                     work.failed() ? 0 : chunk.end - chunk.begin);
  if (--work.remaining > 0) return;
  if (work.failed()) return Deliver({&chunk.envelope, 1});
  work.tensors = device_->Tensors(work);
  {
    const auto lock = SpinLock(launch_mutex_);
    to_launch_.push_back(chunk.envelope);
  }
  resources_.queue->CallForWork();
}

bool Scheduler::LaunchReady() {
  std::vector<EnvelopePtr> ready;
  {
    const auto lock = SpinLock(launch_mutex_);
    ready.swap(to_launch_);
  }
  std::sort(ready.begin(), ready.end(), [](const EnvelopePtr& a, const EnvelopePtr& b) {
    return a->work->spec.sequence < b->work->spec.sequence;
  });
  const size_t most = device_->gather()->most_batches();
  for (size_t i = 0; i < ready.size(); i += most) {
    Launch(absl::MakeConstSpan(ready).subspan(i, most));
  }
  return !ready.empty();
}

void Scheduler::Launch(absl::Span<const EnvelopePtr> batches) {
  const StreamRef stream = device_->stream(static_cast<int>(launches_++ % device_->streams()));
  absl::StatusOr<std::shared_ptr<Event>> ready = resources_.queue->device()->AcquireEvent();
  absl::Status status = ready.status();
  if (status.ok()) status = LaunchTimed(batches, stream);
  // Recorded also after a failure: what was enqueued before it still reads the slab.
  if (ready.ok()) status.Update((*ready)->Record(stream));
  for (const EnvelopePtr& envelope : batches) {
    BatchWork& work = *envelope->work;
    if (ready.ok()) work.ready_event = *ready;
    if (status.ok()) {
      CountGathered(work);
    } else {
      work.Fail(0, status);
    }
  }
  Deliver(batches);
}

// Batches of one launch have its time stamps in common.
absl::Status Scheduler::LaunchTimed(absl::Span<const EnvelopePtr> batches, StreamRef stream) {
  std::array<const BatchWork*, kMaxGathered> works;
  for (size_t i = 0; i < batches.size(); ++i) works[i] = batches[i]->work.get();
  const auto some = absl::MakeConstSpan(works).first(batches.size());
  if (!IsTimed(*works[0])) return device_->gather()->Enqueue(some, stream);
  Device& device = *resources_.queue->device();
  BatchTiming timing;
  PENSTOCK_ASSIGN_OR_RETURN(timing.copy_start, device.AcquireTimingEvent());
  PENSTOCK_ASSIGN_OR_RETURN(timing.steps_end, device.AcquireTimingEvent());
  timing.copy_end = timing.copy_start;  // Nothing is copied.
  PENSTOCK_RETURN_IF_ERROR(timing.copy_start->Record(stream));
  PENSTOCK_RETURN_IF_ERROR(device_->gather()->Enqueue(some, stream));
  PENSTOCK_RETURN_IF_ERROR(timing.steps_end->Record(stream));
  for (const EnvelopePtr& envelope : batches) {
    PENSTOCK_ASSIGN_OR_RETURN(timing.work_start, device.AcquireTimingEvent());
    PENSTOCK_ASSIGN_OR_RETURN(timing.work_end, device.AcquireTimingEvent());
    envelope->work->timing = std::make_shared<BatchTiming>(timing);
  }
  return absl::OkStatus();
}

}  // namespace penstock
