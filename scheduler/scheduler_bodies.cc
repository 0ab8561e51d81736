// What the scheduler does with a batch at each node of the flow.
#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock {
namespace {

int Chunks(int rows, int chunk_rows) { return (rows + chunk_rows - 1) / chunk_rows; }

// Calls `body(begin, end)` for each chunk of `rows` rows.
template <class Body>
void ForEachChunk(int rows, int chunk_rows, Body body) {
  for (int begin = 0; begin < rows; begin += chunk_rows) {
    body(begin, std::min(rows, begin + chunk_rows));
  }
}

absl::Status RecordTime(Device& device, std::shared_ptr<TimingEvent>& event, StreamRef stream) {
  PENSTOCK_ASSIGN_OR_RETURN(event, device.AcquireTimingEvent());
  return event->Record(stream);
}

}  // namespace

FlowBodies Scheduler::Bodies() {
  FlowBodies bodies;
  bodies.read = [this](const EnvelopePtr& envelope, const std::function<void(const Chunk&)>& emit,
                       const std::function<void()>& end) { Read(envelope, emit, end); };
  bodies.sample = [this](const Chunk& chunk) { Sample(chunk); };
  bodies.sample_done = [](const Chunk& chunk) { return --chunk.envelope->work->remaining == 0; };
  bodies.complete = [this](Envelope& envelope) {
    BatchWork& work = *envelope.work;
    host_.Complete(work);
    if (!work.failed()) device_->Prepare(work);
  };
  bodies.upload = [this](const EnvelopePtr& envelope, std::function<void()> end) {
    Upload(envelope, std::move(end));
  };
  bodies.deliver = [this](Envelope& envelope) { Deliver(envelope); };
  return bodies;
}

void Scheduler::Read(const EnvelopePtr& envelope, const std::function<void(const Chunk&)>& emit,
                     const std::function<void()>& end) {
  BatchWork& work = *envelope->work;
  if (host_.Locate(work)) return ReadRows(envelope, emit, end);
  // Sizes first: where a row's bytes go depends on those before it.
  const int rows = work.count();
  work.remaining = Chunks(rows, host_.chunk_rows());
  std::vector<IoPool::Job> jobs;
  ForEachChunk(rows, host_.chunk_rows(), [&](int begin, int stop) {
    jobs.emplace_back([this, envelope, emit, end, begin, stop](FileReader& reader) {
      BatchWork& measured = *envelope->work;
      if (!cancelled_) host_.Measure(measured, begin, stop, reader);
      if (--measured.remaining == 0) ReadRows(envelope, emit, end);
    });
  });
  resources_.io->Submit(std::move(jobs));
}

void Scheduler::ReadRows(const EnvelopePtr& envelope, const std::function<void(const Chunk&)>& emit,
                         const std::function<void()>& end) {
  BatchWork& work = *envelope->work;
  const int rows = work.count();
  if (cancelled_) work.Fail(0, absl::CancelledError("the pipeline was cancelled"));
  if (work.failed() || rows == 0) {
    work.remaining = 1;
    emit({envelope, 0, 0, absl::Now()});
    return;
  }
  host_.Place(work);
  work.remaining = Chunks(rows, host_.chunk_rows());
  std::vector<IoPool::Job> jobs;
  const absl::Time submitted = absl::Now();
  ForEachChunk(rows, host_.chunk_rows(), [&](int begin, int stop) {
    jobs.emplace_back([this, envelope, emit, end, begin, stop, submitted](FileReader& reader) {
      const absl::Time start = absl::Now();
      if (!cancelled_) host_.Read(*envelope->work, begin, stop, reader);
      const absl::Time end_of_read = absl::Now();
      counters_.read.Add(end_of_read - start, start - submitted, stop - begin);
      emit({envelope, begin, stop, end_of_read});
    });
  });
  resources_.io->Submit(std::move(jobs));
}

void Scheduler::Sample(const Chunk& chunk) {
  BatchWork& work = *chunk.envelope->work;
  if (cancelled_) work.Fail(0, absl::CancelledError("the pipeline was cancelled"));
  if (!work.failed() && chunk.end > chunk.begin) host_.Process(chunk);
}

void Scheduler::Upload(const EnvelopePtr& envelope, std::function<void()> end) {
  BatchWork& work = *envelope->work;
  if (work.failed()) return end();
  UploadJob job;
  job.order = work.spec.sequence;
  job.stream = device_->stream(work.stream);
  job.piece_bytes = plan_.piece_bytes;
  job.copies = device_->Copies(work);
  int64_t bytes = 0;
  for (const CopyRange& copy : job.copies) bytes += static_cast<int64_t>(copy.bytes);
  const absl::Time submitted = absl::Now();
  work.timing = std::make_shared<BatchTiming>();
  job.before = [this, &work, stream = job.stream, submitted]() -> absl::Status {
    Device& device = *resources_.queue->device();
    counters_.upload.Add(absl::ZeroDuration(), absl::Now() - submitted, 0);
    // The consumer's two are the batch's to record.
    PENSTOCK_ASSIGN_OR_RETURN(work.timing->work_start, device.AcquireTimingEvent());
    PENSTOCK_ASSIGN_OR_RETURN(work.timing->work_end, device.AcquireTimingEvent());
    return RecordTime(device, work.timing->copy_start, stream);
  };
  job.after = [this, &work, stream = job.stream, bytes]() -> absl::Status {
    Device& device = *resources_.queue->device();
    PENSTOCK_RETURN_IF_ERROR(RecordTime(device, work.timing->copy_end, stream));
    PENSTOCK_RETURN_IF_ERROR(device_->Enqueue(work));
    PENSTOCK_RETURN_IF_ERROR(RecordTime(device, work.timing->steps_end, stream));
    counters_.bytes_uploaded += bytes;
    counters_.slab_writes += work.slab_writes;
    counters_.scratch_writes += work.scratch_writes;
    return absl::OkStatus();
  };
  job.done = [this, &work, stream = job.stream, end = std::move(end)](absl::Status status) {
    // Recorded also after a failure: pieces that were issued still read the slab.
    auto event = resources_.queue->device()->AcquireEvent();
    if (event.ok() && (*event)->Record(stream).ok()) {
      work.ready_event = *std::move(event);
    } else if (status.ok()) {
      status =
          event.ok() ? absl::InternalError("recording the ready event failed") : event.status();
    }
    if (!status.ok()) work.Fail(0, std::move(status));
    end();
  };
  resources_.queue->Submit(std::move(job));
}

DeviceBatch Scheduler::MakeBatch(BatchWork& work) {
  BatchInfo info;
  info.sequence = work.spec.sequence;
  info.epoch = work.spec.epoch;
  info.valid = work.count();
  info.ids = work.spec.ids;
  for (int row = 0; row < work.count(); ++row) {
    info.keys.push_back(work.rows[row].sample.key);
    info.tags.push_back(work.rows[row].sample.tag);
  }
  overlap_.Add(work.timing);
  return DeviceBatch(pool_, work.seat, std::move(info), work.ready_event, device_->Tensors(work),
                     work.timing);
}

void Scheduler::Deliver(Envelope& envelope) {
  std::unique_ptr<BatchWork> work = std::move(envelope.work);
  if (!plan_.source->size()) {
    const auto& source = static_cast<const UnboundedSource&>(*plan_.source);
    for (const int64_t id : work->spec.ids) source.Release(id);
  }
  Delivery::Item item;
  if (work->failed()) {
    item.value = work->failure();
    failed_ = true;
    StopAdmission();
    std::vector<std::shared_ptr<Event>> busy;
    if (work->ready_event != nullptr) busy.push_back(work->ready_event);
    pool_->Return(work->seat, std::move(busy));
  } else {
    item.value = MakeBatch(*work);
  }
  const int64_t generation = work->generation, slot = work->slot;
  // Before the item goes out: its consumer may release the seat at once, and the next admission
  // needs a work for it.
  work->ready_event = nullptr;
  work->timing = nullptr;
  {
    const std::lock_guard lock(works_mutex_);
    idle_works_.push_back(std::move(work));
  }
  --in_flight_;
  delivery_.Put(generation, slot, std::move(item));
}

}  // namespace penstock
