// The scheduler's figures.
#include <algorithm>
#include <numeric>

#include "absl/time/clock.h"
#include "penstock/memory/spin_lock.h"
#include "penstock/scheduler/cpu_budget.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock {
namespace {

double PerByte(int64_t bytes, int64_t uploaded) {
  return uploaded > 0 ? static_cast<double>(bytes) / static_cast<double>(uploaded) : 0;
}

StageStatistics Line(std::string name, std::string place, double busy_s, double wait_s,
                     int64_t items, double available_s) {
  StageStatistics line;
  line.name = std::move(name);
  line.place = std::move(place);
  line.busy_s = busy_s;
  line.wait_s = wait_s;
  line.items = items;
  line.utilisation = available_s > 0 ? std::min(1.0, busy_s / available_s) : 0;
  return line;
}

template <class Times>
void SetQuantiles(const Times& times, StageStatistics& line) {
  line.p50_us = absl::ToDoubleMicroseconds(times.Quantile(0.5));
  line.p95_us = absl::ToDoubleMicroseconds(times.Quantile(0.95));
}

StageStatistics Counted(std::string name, std::string place, const StepCounter& counter,
                        double available_s) {
  StageStatistics line = Line(std::move(name), std::move(place), counter.busy_s(), counter.wait_s(),
                              counter.items(), available_s);
  SetQuantiles(counter, line);
  return line;
}

}  // namespace

void Scheduler::CountGathered(const BatchWork& work) {
  if (plan_.gather == nullptr || plan_.cache.place != CachePlace::kPinned) return;
  int64_t kept = work.count();
  if (!plan_.resident()) {
    kept = std::count_if(work.ids.begin(), work.ids.end(),
                         [this](int64_t id) { return cache_->Has(id); });
  }
  counters_.bytes_gathered += kept * plan_.chain.input.bytes();
}

void Scheduler::CountDelivered(const std::optional<DeviceBatch>& batch) {
  const absl::Time now = absl::Now();
  const auto lock = SpinLock(delivered_mutex_);
  if (!batch) {
    epoch_start_ = now;
    return;
  }
  if (epochs_.empty() || epochs_.back().epoch != batch->info().epoch) {
    epochs_.push_back({batch->info().epoch});
  }
  ++epochs_.back().batches;
  epochs_.back().samples += batch->size();
  epochs_.back().seconds = absl::ToDoubleSeconds(now - epoch_start_);
  if (delivered_batches_++ == 0) {
    first_delivery_ = now;
    first_batch_samples_ = batch->size();
  }
  delivered_samples_ += batch->size();
  // Every seat has been round twice: nothing that follows is new.
  if (delivered_batches_ == 2 * plan_.seats) {
    allocations_when_warm_ = resources_.queue->device()->driver_allocations();
  }
}

double Scheduler::PerTimed(const OverlapLog::Totals& totals) const {
  return totals.batches > 0 && delivered_batches_ > totals.batches
             ? static_cast<double>(delivered_batches_) / static_cast<double>(totals.batches)
             : 1;
}

std::vector<StageStatistics> Scheduler::Stages(double seconds) const {
  std::vector<StageStatistics> stages;
  stages.push_back(
      Counted(plan_.source_node, "io", counters_.read, seconds * resources_.io->threads()));
  const std::string host = plan_.chain.cut > 0 && plan_.whole.empty()
                               ? plan_.Names(0, plan_.chain.cut)
                               : plan_.source_node + " (finish)";
  stages.push_back(Counted(host, "host", counters_.host, seconds * resources_.arena->threads()));
  std::string batch_steps, device_steps;
  for (const BatchStep& step : plan_.batch_steps) {
    batch_steps += (batch_steps.empty() ? "" : "+") + step.node;
  }
  if (!batch_steps.empty()) {
    stages.push_back(
        Counted(batch_steps, "host", counters_.batch_steps, seconds * resources_.arena->threads()));
  }
  OverlapLog::Totals totals = overlap_.totals();
  // Some batches are timed, and stand for all.
  const double each = PerTimed(totals);
  totals.copy_s *= each;
  totals.steps_s *= each;
  totals.work_s *= each;
  const int64_t batches = std::max(totals.batches, delivered_batches_);
  stages.push_back(
      Line("upload", "copy", totals.copy_s, counters_.upload.wait_s(), batches, seconds));
  SetQuantiles(overlap_.copy_times(), stages.back());
  for (const auto* list : {&plan_.whole, &plan_.behind}) {
    for (const DeviceStep& step : *list) {
      device_steps += (device_steps.empty() ? "" : ", ") + step.name;
    }
  }
  if (plan_.gather != nullptr) {
    device_steps = "gather";
    if (!plan_.chain.links.empty()) device_steps += "+" + plan_.Names(0, plan_.chain.links.size());
  }
  if (!device_steps.empty()) {
    stages.push_back(Line(device_steps, "device", totals.steps_s, 0, batches, seconds));
    SetQuantiles(overlap_.steps_times(), stages.back());
  }
  // From WaitOn's event to the release's: known only of consumers that name a stream.
  if (totals.work_s > 0) {
    stages.push_back(Line("consumer", "consumer", totals.work_s, 0, batches, seconds));
    SetQuantiles(overlap_.work_times(), stages.back());
  }
  return stages;
}

RunStatistics Scheduler::Statistics() const {
  overlap_.Harvest();
  RunStatistics s;
  const Device& device = *resources_.queue->device();
  const SeatPool::Counts counts = pool_->counts();
  const auto lock = SpinLock(delivered_mutex_);
  s.device = device.name();
  s.rank = plan_.rank;
  s.world = plan_.world;
  s.batches = delivered_batches_;
  s.samples = delivered_samples_;
  const absl::Time last_release = absl::FromUnixNanos(last_release_ns_);
  // With nothing on its way, time stands still: at 0 where there was no batch at all.
  const bool idle = counts.held == 0 && counts.returning == 0;
  const absl::Time end = idle ? std::max(last_release, first_admission_) : absl::Now();
  s.seconds = absl::ToDoubleSeconds(end - first_admission_);
  if (delivered_batches_ > 0) {
    s.first_batch_seconds = absl::ToDoubleSeconds(first_delivery_ - first_admission_);
    const double steady = s.seconds - s.first_batch_seconds;
    // Of a single batch there is no other rate than that with its start.
    const bool several = delivered_batches_ > 1 && steady > 0;
    s.samples_per_second =
        several ? static_cast<double>(delivered_samples_ - first_batch_samples_) / steady
                : static_cast<double>(delivered_samples_) / std::max(s.seconds, 1e-9);
  }
  s.startup_seconds = startup_seconds_;
  s.pinning_seconds = absl::ToDoubleSeconds(pool_->host_time());
  s.next_wait_seconds = absl::ToDoubleSeconds(delivery_.waited());
  s.cpu_seconds = ProcessCpuSeconds() - cpu_at_start_;
  const DeviceQueue::Times queue = resources_.queue->times();
  s.queue_busy_seconds = queue.busy_s;
  s.queue_polling_seconds = queue.polling_s;
  s.bytes_read = counters_.bytes_read;
  s.bytes_uploaded = counters_.bytes_uploaded;
  s.bytes_gathered = counters_.bytes_gathered;
  const OverlapLog::Totals totals = overlap_.totals();
  if (totals.copy_s > 0) {
    const double copy_s = totals.copy_s * PerTimed(totals);
    s.upload_gb_per_s = static_cast<double>(s.bytes_uploaded) / copy_s * 1e-9;
  }
  s.overlap_fraction = totals.overlap_fraction();
  s.copy_utilisation = totals.copy_utilisation();
  s.copy_gap_p95_us = absl::ToDoubleMicroseconds(overlap_.copy_gaps().Quantile(0.95));
  s.copy_gap_longest_us = totals.longest_gap_s * 1e6;
  if (pool_->memory() == HostMemory::kPinned) {
    s.pinned_bytes_peak = static_cast<int64_t>(plan_.layout.host_bytes()) * plan_.seats;
  }
  const auto kept = static_cast<int64_t>(plan_.cache.bytes());
  if (plan_.cache.place == CachePlace::kPinned) s.pinned_bytes_peak += kept;
  const auto encoded = static_cast<int64_t>(plan_.encoded_cache.bytes);
  if (plan_.encoded_cache.place == CachePlace::kPinned) s.pinned_bytes_peak += encoded;
  s.device_bytes_peak = static_cast<int64_t>(plan_.layout.device_bytes()) * plan_.seats +
                        static_cast<int64_t>(device_->device_bytes());
  if (plan_.cache.place == CachePlace::kDevice) s.device_bytes_peak += kept;
  if (plan_.encoded_cache.place == CachePlace::kDevice) s.device_bytes_peak += encoded;
  s.driver_allocations_after_warmup =
      allocations_when_warm_ < 0 ? 0 : device.driver_allocations() - allocations_when_warm_;
  s.host_writes_per_byte = PerByte(counters_.slab_writes, s.bytes_uploaded);
  s.scratch_bytes_per_byte = PerByte(counters_.scratch_writes, s.bytes_uploaded);
  s.images_decoded_host = counters_.decoded_host;
  s.images_decoded_device = counters_.decoded_device;
  s.images_repaired = counters_.repaired;
  s.cache_hits = counters_.cache_hits;
  s.epochs = epochs_;
  s.stages = Stages(s.seconds);
  s.seats = plan_.seats;
  s.seats_waiting = static_cast<int>(delivery_.waiting());
  Judge(s);
  return s;
}

}  // namespace penstock
