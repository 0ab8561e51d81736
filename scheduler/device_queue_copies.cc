// What DeviceQueue does to jobs: which is next, and its copies piece by piece.
#include <algorithm>
#include <utility>

#include "penstock/memory/slab.h"
#include "penstock/memory/spin_lock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/device_queue.h"

namespace penstock {
namespace {

// A consumer's own copy waits for what is queued before it: two pieces of 16 MiB are 0.6 ms. One
// would leave the engine idle between pieces.
constexpr size_t kMaxPieces = 2;

// Pieces of one size, none larger than asked: a short one at the end would leave too little time to
// queue the next.
size_t EvenPiece(size_t bytes, size_t most) {
  const size_t pieces = (bytes + most - 1) / most;
  return std::min(most, AlignUp((bytes + pieces - 1) / pieces, kSlabAlignment));
}

// A failed device will never finish it; the next call reports the error.
bool HasPassed(const Event& event) {
  const absl::StatusOr<bool> passed = event.Done();
  return !passed.ok() || *passed;
}

}  // namespace

bool DeviceQueue::Waits(const Piece& piece) {
  return piece.behind != nullptr && !HasPassed(*piece.behind);
}

bool DeviceQueue::TakeJob() {
  if (current_ != nullptr) return true;
  if (!has_jobs_) return false;
  {
    const bool one_waits =
        std::any_of(in_flight_.begin(), in_flight_.end(), [](const Piece& p) { return Waits(p); });
    const auto lock = SpinLock(mutex_);
    auto lowest = jobs_.end();
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
      if (lowest != jobs_.end() && lowest->order < job->order) continue;
      if (IsFirstOfStream(*job) && MayTake(*job, one_waits)) lowest = job;
    }
    jobs_held_ = lowest == jobs_.end() && !jobs_.empty();
    if (lowest == jobs_.end()) return false;
    current_ = std::make_unique<UploadJob>(std::move(*lowest));
    jobs_.erase(lowest);
    has_jobs_ = !jobs_.empty();
  }
  range_ = offset_ = 0;
  if (absl::Status status = current_->before(); !status.ok()) FinishJob(std::move(status));
  return current_ != nullptr;
}

std::shared_ptr<Event> DeviceQueue::WorkIn(StreamRef stream) const {
  for (const LongWork& work : working_) {
    if (work.stream == stream && !HasPassed(*work.ready)) return work.ready;
  }
  return nullptr;
}

// A copy behind long work of its stream keeps a place in the queue all that time: there may be one
// such piece, so that the engine has something to do when the work ends, and one place is left for
// the other streams.
bool DeviceQueue::MayTake(const UploadJob& job, bool one_waits) const {
  if (WorkIn(job.stream) == nullptr) return true;
  size_t bytes = 0;
  for (const CopyRange& copy : job.copies) bytes += copy.bytes;
  return bytes <= static_cast<size_t>(job.piece_bytes) && !one_waits;
}

// Of jobs that wait for one stream, none goes before an earlier one: a batch that goes up again
// would wait for all that came after it.
bool DeviceQueue::IsFirstOfStream(const UploadJob& job) const {
  return std::none_of(jobs_.begin(), jobs_.end(), [&job](const UploadJob& other) {
    return other.stream == job.stream && other.order < job.order;
  });
}

bool DeviceQueue::IssuePiece() {
  if (range_ == current_->copies.size()) {
    FinishJob(current_->after());
    return true;
  }
  if (in_flight_.size() >= kMaxPieces) return false;
  const absl::Status status = [&]() -> absl::Status {
    PENSTOCK_RETURN_IF_ERROR(CopyPiece());
    PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Event> event, device_->AcquireEvent());
    PENSTOCK_RETURN_IF_ERROR(event->Record(current_->stream));
    in_flight_.push_back({std::move(event), WorkIn(current_->stream)});
    return absl::OkStatus();
  }();
  if (!status.ok()) FinishJob(status);
  return true;
}

// A part of a range; or its end, with the small ones that follow it.
absl::Status DeviceQueue::CopyPiece() {
  const auto most = static_cast<size_t>(current_->piece_bytes);
  size_t issued = 0;
  do {
    const CopyRange& copy = current_->copies[range_];
    const size_t bytes = std::min(copy.bytes - offset_, EvenPiece(copy.bytes, most));
    PENSTOCK_RETURN_IF_ERROR(
        device_->CopyToDevice(copy.to + offset_, copy.from + offset_, bytes, current_->stream));
    issued += bytes;
    offset_ += bytes;
    if (offset_ < copy.bytes) break;
    ++range_;
    offset_ = 0;
  } while (range_ < current_->copies.size() && issued + current_->copies[range_].bytes <= most);
  return absl::OkStatus();
}

void DeviceQueue::FinishJob(absl::Status status) {
  const std::unique_ptr<UploadJob> job = std::move(current_);
  job->done(std::move(status));
  if (job->ready == nullptr) return;
  std::erase_if(working_, [&job](const LongWork& work) { return work.stream == job->stream; });
  working_.push_back({job->stream, job->ready});
}

// Of different streams, the later one may pass first.
bool DeviceQueue::RetirePieces() {
  return std::erase_if(in_flight_, [](const Piece& p) { return HasPassed(*p.event); }) > 0;
}

bool DeviceQueue::CopyRuns() const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [](const Piece& p) { return !Waits(p); });
}

}  // namespace penstock
