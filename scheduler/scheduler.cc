// Start, stop and admission. The flow's bodies are in scheduler_bodies.cc and
// scheduler_repair.cc, the figures in scheduler_statistics.cc.
#include "penstock/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/memory/spin_lock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/cpu_budget.h"

namespace penstock {
namespace {

// Events that one batch may need at a time: two pieces, ready, and a release on a few streams.
constexpr int kEventsASeat = 8, kTimingEventsASeat = 10;

}  // namespace

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(ExecutionPlan plan,
                                                             SchedulerResources resources) {
  if (resources.stop.stop_requested()) return absl::CancelledError("the pipeline was stopped");
  PENSTOCK_ASSIGN_OR_RETURN(const BatchSequence sequence, BatchSequence::Create(plan));
  std::unique_ptr<Scheduler> scheduler(
      new Scheduler(std::move(plan), std::move(resources), sequence));
  PENSTOCK_RETURN_IF_ERROR(scheduler->Prepare());
  return scheduler;
}

Scheduler::Scheduler(ExecutionPlan plan, SchedulerResources resources,
                     const BatchSequence& sequence)
    : plan_(std::move(plan)),
      resources_(std::move(resources)),
      sequence_(sequence),
      key_of_(std::make_shared<const BatchInfo::KeyOf>(
          [source = plan_.source](int64_t id) { return source->key(id); })),
      tables_(plan_),
      host_(plan_, tables_, counters_),
      delivery_(
          [this](absl::Duration waited, bool timed_out) { return WhyWaiting(waited, timed_out); }),
      created_(absl::Now()) {
  sequence_.Rebind(plan_);
}

absl::Status Scheduler::Prepare() {
  cpu_at_start_ = ProcessCpuSeconds();
  const std::shared_ptr<Device>& device = resources_.queue->device();
  PENSTOCK_RETURN_IF_ERROR(MakePool(device));
  PENSTOCK_RETURN_IF_ERROR(MakeCache(device));
  PENSTOCK_ASSIGN_OR_RETURN(device_, DeviceSteps::Create(*device, plan_, tables_, cache_.get()));
  for (int i = 0; i < plan_.seats; ++i) idle_works_.push_back(std::make_unique<BatchWork>());
  PENSTOCK_RETURN_IF_ERROR(WarmUp());
  flow_ = std::make_unique<Flow>(resources_.arena, Bodies());
  startup_seconds_ = absl::ToDoubleSeconds(absl::Now() - created_);
  return absl::OkStatus();
}

void Scheduler::Start() {
  first_admission_ = epoch_start_ = absl::Now();
  std::function<bool()> launch;
  if (plan_.only_launches()) launch = [this] { return LaunchReady(); };
  resources_.queue->Watch(pool_, [this] { OnSeatsFree(); }, std::move(launch));
  if (!plan_.source->size()) {
    static_cast<UnboundedSource&>(*plan_.source).SetListener([this] { Admit(); });
  }
  Admit();
}

absl::Status Scheduler::MakePool(const std::shared_ptr<Device>& device) {
  SeatPoolOptions options;
  options.slabs.layout = plan_.layout;
  options.slabs.seats = plan_.seats;
  options.slabs.memory = plan_.memory;
  options.slabs.or_pageable = plan_.or_pageable;
  options.check_leases = resources_.check_leases;
  options.node = plan_.name;
  absl::StatusOr<std::shared_ptr<SeatPool>> pool = SeatPool::Create(device, std::move(options));
  if (absl::IsResourceExhausted(pool.status())) {
    return absl::ResourceExhaustedError(absl::StrCat(
        pool.status().message(), "; lower batches_in_flight, batch_size or the bytes of a Cache",
        plan_.memory == HostMemory::kPinned ? ", or use Pin { mode: AUTO }" : ""));
  }
  PENSTOCK_ASSIGN_OR_RETURN(pool_, std::move(pool));
  plan_.memory = pool_->memory();
  if (!pool_->refused().ok()) {
    plan_.memory = HostMemory::kPageable;
    resources_.log(absl::StrCat("node '", plan_.name, "': batches are born in pageable memory, ",
                                "which is slower to copy: ", pool_->refused().message()));
  }
  return absl::OkStatus();
}

absl::Status Scheduler::MakeCache(const std::shared_ptr<Device>& device) {
  if (plan_.encoded_cache.bytes > 0) {
    PENSTOCK_ASSIGN_OR_RETURN(encoded_cache_, EncodedCache::Create(plan_, *device));
    host_.SetCache(*encoded_cache_);
  }
  if (plan_.cache.samples == 0) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(
      cache_, RowCache::Fill(plan_, device, *resources_.io, counters_, resources_.stop));
  host_.SetCache(cache_.get());
  return absl::OkStatus();
}

// Fills the event pools, so that no batch has to ask the driver for one.
absl::Status Scheduler::WarmUp() {
  Device& device = *resources_.queue->device();
  std::vector<std::shared_ptr<Event>> events;
  std::vector<std::shared_ptr<TimingEvent>> timing;
  // The device queue keeps the last one of each stream.
  for (int i = 0; i < plan_.seats * kEventsASeat + plan_.streams; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(events.emplace_back(), device.AcquireEvent());
  }
  for (int i = 0; i < plan_.seats * kTimingEventsASeat; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(timing.emplace_back(), device.AcquireTimingEvent());
  }
  return absl::OkStatus();
}

Scheduler::~Scheduler() {
  Cancel();
  if (!plan_.source->size()) {
    static_cast<UnboundedSource&>(*plan_.source).SetListener(nullptr);
  }
  // What is in flight passes through as cancelled; the queue's thread has a hand in that.
  if (flow_ != nullptr) flow_->Drain();
  if (pool_ != nullptr) resources_.queue->Unwatch(pool_.get());
  flow_.reset();
}

void Scheduler::Cancel() {
  cancelled_ = true;
  StopAdmission();
  delivery_.Cancel();
}

// It changes the run, if none of our members.
void Scheduler::Finish() {  // NOLINT(readability-make-member-function-const)
  if (!plan_.source->size()) static_cast<UnboundedSource&>(*plan_.source).Close();
}

void Scheduler::StartEpoch(int64_t epoch) {
  {
    const std::lock_guard lock(admit_mutex_);
    if (cancelled_ || failed_) return;
    delivery_.StartGeneration(++generation_);
    slot_ = 0;
    pending_.reset();
    sequence_.StartEpoch(epoch);
    admission_ended_ = false;
  }
  Admit();
}

void Scheduler::StopAdmission() {
  const std::lock_guard lock(admit_mutex_);
  admission_ended_ = true;
}

void Scheduler::Admit() {
  const std::lock_guard lock(admit_mutex_);
  while (!admission_ended_ && AdmitNext()) {
  }
}

// Under admit_mutex_. False when nothing more can be admitted now.
bool Scheduler::AdmitNext() {
  if (!pending_) pending_ = sequence_.Next();
  switch (pending_->kind) {
    case NextItem::Kind::kNothingYet:
      pending_.reset();
      return false;
    case NextItem::Kind::kEpochEnd:
      delivery_.Put(generation_, slot_++, {std::optional<DeviceBatch>()});
      break;
    case NextItem::Kind::kRunEnd:
      delivery_.Put(generation_, slot_++, {std::optional<DeviceBatch>(), /*run_end=*/true});
      admission_ended_ = true;
      break;
    case NextItem::Kind::kBatch: {
      Seat* seat = pool_->TryAcquire();
      if (seat == nullptr) return false;
      SubmitBatch(pending_->batch, seat);
      break;
    }
  }
  pending_.reset();
  return true;
}

void Scheduler::SubmitBatch(const BatchSpec& spec, Seat* seat) {
  auto envelope = std::make_shared<Envelope>();
  {
    const auto lock = SpinLock(works_mutex_);
    envelope->work = std::move(idle_works_.back());
    idle_works_.pop_back();
  }
  BatchWork& work = *envelope->work;
  work.Start(spec);
  if (absl::Status lease = pool_->CheckLease(*seat); !lease.ok()) work.Fail(0, std::move(lease));
  work.generation = generation_;
  work.slot = slot_++;
  work.seat = seat;
  work.stream = static_cast<int>(submitted_++ % device_->streams());
  tables_.Start(work);
  ++in_flight_;
  plan_.only_launches() ? SubmitRows(envelope) : flow_->Submit(envelope);
}

void Scheduler::OnSeatsFree() {
  last_release_ns_ = absl::GetCurrentTimeNanos();
  overlap_.Harvest();
  Admit();
}

absl::StatusOr<std::optional<DeviceBatch>> Scheduler::Next(absl::Duration timeout) {
  absl::StatusOr<std::optional<DeviceBatch>> next = delivery_.Next(timeout);
  if (next.ok()) CountDelivered(*next);
  return next;
}

std::string Scheduler::WhyWaiting(absl::Duration waited, bool timed_out) {
  const SeatPool::Counts counts = pool_->counts();
  const int64_t consumer = counts.held - in_flight_ - delivery_.waiting();
  if (consumer + counts.returning < plan_.seats) return "";
  const std::string why = absl::StrCat(
      "the consumer holds all ", plan_.seats, " batches (", consumer, " not released, ",
      counts.returning, " whose streams have not passed); release one, or raise batches_in_flight");
  if (!timed_out) {
    resources_.log(absl::StrCat("Next() has waited ", absl::FormatDuration(waited), ": ", why));
  }
  return why;
}

}  // namespace penstock
