// What the scheduler does with a batch at each node of the flow.
#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/time/clock.h"
#include "penstock/memory/spin_lock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock {
namespace {

// Calls `body(begin, end)` for each chunk of `rows` rows.
template <class Body>
void ForEachChunk(int rows, int chunk_rows, Body body) {
  for (int begin = 0; begin < rows; begin += chunk_rows) {
    body(begin, std::min(rows, begin + chunk_rows));
  }
}

// Time stamps cost the device time between two copies, and the host some microseconds a batch: a
// window of neighbours is timed, then many are not.
constexpr int64_t kTimedWindow = 32, kTimingPeriod = 256;

absl::Status RecordTime(Device& device, std::shared_ptr<TimingEvent>& event, StreamRef stream) {
  PENSTOCK_ASSIGN_OR_RETURN(event, device.AcquireTimingEvent());
  return event->Record(stream);
}

}  // namespace

bool Scheduler::IsTimed(const BatchWork& work) const {
  return work.spec.sequence / plan_.devices % kTimingPeriod < kTimedWindow;
}

FlowBodies Scheduler::Bodies() {
  FlowBodies bodies;
  bodies.read = [this](const EnvelopePtr& envelope, const std::function<void(const Chunk&)>& emit,
                       const std::function<void()>& end) { Read(envelope, emit, end); };
  bodies.sample = [this](const Chunk& chunk) { Sample(chunk); };
  bodies.sample_done = [](const Chunk& chunk) { return --chunk.envelope->work->remaining == 0; };
  bodies.complete = [this](Envelope& envelope) {
    BatchWork& work = *envelope.work;
    host_.Complete(work);
    PrepareUpload(work);
  };
  bodies.upload = [this](const EnvelopePtr& envelope, std::function<void()> end) {
    Upload(envelope, std::move(end));
  };
  bodies.deliver = [this](const EnvelopePtr& envelope) { Deliver({&envelope, 1}); };
  bodies.rows = [this](const Chunk& chunk) { Rows(chunk); };
  bodies.repair = [this](const Chunk& chunk) { Repair(chunk); };
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
  FailIfCancelled(work);
  if (work.failed() || rows == 0) {
    work.remaining = 1;
    emit({envelope, 0, 0, absl::Now()});
    return;
  }
  host_.Place(work);
  const int chunk_rows = host_.chunk_rows(work);
  work.remaining = Chunks(rows, chunk_rows);
  const absl::Time submitted = absl::Now();
  if (host_.nothing_to_read(work)) {
    ForEachChunk(rows, chunk_rows,
                 [&](int begin, int stop) { emit({envelope, begin, stop, submitted}); });
    return;
  }
  std::vector<IoPool::Job> jobs;
  ForEachChunk(rows, chunk_rows, [&](int begin, int stop) {
    jobs.emplace_back([this, envelope, emit, end, begin, stop, submitted](FileReader& reader) {
      const absl::Time start = absl::Now();
      const int rows = cancelled_ ? 0 : host_.Read(*envelope->work, begin, stop, reader);
      const absl::Time end_of_read = absl::Now();
      counters_.read.Add(end_of_read - start, start - submitted, rows);
      EndRead({envelope, begin, stop, end_of_read}, emit);
    });
  });
  resources_.io->Submit(std::move(jobs));
}

void Scheduler::EndRead(const Chunk& chunk, const std::function<void(const Chunk&)>& emit) {
  BatchWork& work = *chunk.envelope->work;
  FailIfCancelled(work);  // Then nothing may have been read.
  // A task for each would cost more than what is left to do.
  if (host_.reads_finished_rows()) {
    Sample(chunk);
  } else if (!host_.settles_most_rows() || (!work.failed() && host_.Settle(chunk))) {
    return emit(chunk);
  }
  if (--work.remaining > 0) return;
  work.remaining = 1;
  emit({chunk.envelope, 0, 0, chunk.ready});
}

void Scheduler::FailIfCancelled(BatchWork& work) const {
  if (cancelled_) work.Fail(0, absl::CancelledError("the pipeline was cancelled"));
}

void Scheduler::Sample(const Chunk& chunk) {
  BatchWork& work = *chunk.envelope->work;
  FailIfCancelled(work);
  if (work.failed() || chunk.end == chunk.begin) return;
  host_.Process(chunk);
  if (plan_.gather == nullptr) return;
  for (int begin = chunk.begin; begin < chunk.end; begin += GatherSteps::kChunkRows) {
    device_->gather()->Fill(work, begin, std::min(chunk.end, begin + GatherSteps::kChunkRows));
  }
}

// All that the one thread of the device need not do.
void Scheduler::PrepareUpload(BatchWork& work) {
  if (work.failed()) return;
  device_->Prepare(work);
  work.tensors = device_->Tensors(work);
  auto event = resources_.queue->device()->AcquireEvent();
  if (!event.ok()) return work.Fail(0, event.status());
  work.ready_event = *std::move(event);
}

void Scheduler::Upload(const EnvelopePtr& envelope, std::function<void()> end) {
  BatchWork& work = *envelope->work;
  if (work.failed()) return end();
  UploadJob job;
  job.order = work.spec.sequence;
  job.stream = device_->stream(work.stream);
  job.piece_bytes = plan_.piece_bytes;
  job.copies = device_->Copies(work);
  if (plan_.has_encoded_part()) job.ready = work.ready_event;
  int64_t bytes = 0;
  for (const CopyRange& copy : job.copies) bytes += static_cast<int64_t>(copy.bytes);
  const absl::Time submitted = absl::Now();
  job.before = [this, &work, submitted] { return StartTiming(work, submitted); };
  job.after = [this, &work, bytes] { return EnqueueSteps(work, bytes); };
  job.done = [this, envelope, end = std::move(end)](absl::Status status) {
    EndUpload(*envelope->work, std::move(status));
    AwaitReport(envelope, end);
  };
  resources_.queue->Submit(std::move(job));
}

absl::Status Scheduler::StartTiming(BatchWork& work, absl::Time submitted) {
  counters_.upload.Add(absl::ZeroDuration(), absl::Now() - submitted, 0);
  if (!IsTimed(work)) return absl::OkStatus();
  Device& device = *resources_.queue->device();
  work.timing = std::make_shared<BatchTiming>();
  // The consumer's two are the batch's to record.
  PENSTOCK_ASSIGN_OR_RETURN(work.timing->work_start, device.AcquireTimingEvent());
  PENSTOCK_ASSIGN_OR_RETURN(work.timing->work_end, device.AcquireTimingEvent());
  return RecordTime(device, work.timing->copy_start, device_->stream(work.stream));
}

absl::Status Scheduler::EnqueueSteps(BatchWork& work, int64_t uploaded) {
  Device& device = *resources_.queue->device();
  const StreamRef stream = device_->stream(work.stream);
  const bool timed = work.timing != nullptr;
  if (timed) PENSTOCK_RETURN_IF_ERROR(RecordTime(device, work.timing->copy_end, stream));
  PENSTOCK_RETURN_IF_ERROR(device_->Enqueue(work));
  if (timed) PENSTOCK_RETURN_IF_ERROR(RecordTime(device, work.timing->steps_end, stream));
  PENSTOCK_RETURN_IF_ERROR(device_->CopyFills(work));
  PENSTOCK_RETURN_IF_ERROR(device_->CopyReport(work));
  CountGathered(work);
  counters_.bytes_uploaded += uploaded;
  counters_.slab_writes += work.slab_writes;
  counters_.scratch_writes += work.scratch_writes;
  return absl::OkStatus();
}

void Scheduler::EndUpload(BatchWork& work, absl::Status status) {
  // Recorded also after a failure: pieces that were issued still read the slab.
  const absl::Status recorded = work.ready_event->Record(device_->stream(work.stream));
  if (status.ok()) status = recorded;
  if (!status.ok()) work.Fail(0, std::move(status));
}

// The source forgets a pushed sample once it is delivered.
void Scheduler::NamePushed(const BatchWork& work, BatchInfo& info) const {
  std::vector<std::string> keys;
  for (int row = 0; row < work.count(); ++row) {
    keys.push_back(plan_.source->key(info.ids[row]));
    info.tags.push_back(work.rows[row].sample.tag);
  }
  info.key_of = std::make_shared<const BatchInfo::KeyOf>(
      [first = work.spec.positions.begin, keys = std::move(keys)](int64_t id) {
        return keys[static_cast<size_t>(id - first)];
      });
}

DeviceBatch Scheduler::MakeBatch(BatchWork& work) {
  BatchInfo info;
  info.sequence = work.spec.sequence;
  info.epoch = work.spec.epoch;
  info.valid = work.count();
  info.ids = std::move(work.ids);
  info.key_of = key_of_;
  if (!plan_.source->size()) NamePushed(work, info);
  if (work.timing != nullptr) overlap_.Add(work.spec.sequence / plan_.devices, work.timing);
  return DeviceBatch(pool_, work.seat, std::move(info), std::move(work.ready_event),
                     std::move(work.tensors), std::move(work.timing));
}

Delivery::Item Scheduler::MakeItem(BatchWork& work) {
  if (!plan_.source->size()) {
    const auto& source = static_cast<const UnboundedSource&>(*plan_.source);
    const PositionRange ids = work.spec.positions;
    for (int64_t id = ids.begin; id < ids.end; ++id) source.Release(id);
  }
  if (!work.failed()) return {MakeBatch(work)};
  failed_ = true;
  StopAdmission();
  std::vector<std::shared_ptr<Event>> busy;
  if (work.ready_event != nullptr) busy.push_back(std::move(work.ready_event));
  pool_->Return(work.seat, std::move(busy));
  return {work.failure()};
}

void Scheduler::Deliver(absl::Span<const EnvelopePtr> batches) {
  absl::InlinedVector<std::shared_ptr<void>, kMaxGathered> holds;  // Dropped last.
  absl::InlinedVector<Delivery::Slot, kMaxGathered> slots;
  for (const EnvelopePtr& envelope : batches) {
    BatchWork& work = *envelope->work;
    holds.push_back(std::move(envelope->hold));
    slots.push_back({work.generation, work.slot, MakeItem(work)});
    work.timing = nullptr;
  }
  // Before the items go out: their consumer may release the seats at once, and the next admission
  // needs a work for each.
  {
    const auto lock = SpinLock(works_mutex_);
    for (const EnvelopePtr& envelope : batches) idle_works_.push_back(std::move(envelope->work));
  }
  in_flight_ -= static_cast<int>(batches.size());
  delivery_.Put(absl::MakeSpan(slots));
}

}  // namespace penstock
