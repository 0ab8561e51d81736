#include "penstock/graphs/device_statistics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

template <class Item, class Match>
Item* Find(std::vector<Item>& items, Match match) {
  const auto found = std::find_if(items.begin(), items.end(), match);
  return found == items.end() ? nullptr : &*found;
}

void AddStages(const RunStatistics& from, RunStatistics& sum) {
  for (const StageStatistics& stage : from.stages) {
    StageStatistics* const line = Find(sum.stages, [&](const StageStatistics& s) {
      return s.name == stage.name && s.place == stage.place;
    });
    if (line == nullptr) {
      sum.stages.push_back(stage);
      continue;
    }
    line->busy_s += stage.busy_s;
    line->wait_s += stage.wait_s;
    line->items += stage.items;
    line->p50_us = std::max(line->p50_us, stage.p50_us);
    line->p95_us = std::max(line->p95_us, stage.p95_us);
    // Devices share the threads, but each has engines of its own.
    const bool shared = stage.place == "io" || stage.place == "host";
    line->utilisation = shared ? std::min(1.0, line->utilisation + stage.utilisation)
                               : std::max(line->utilisation, stage.utilisation);
  }
}

void AddEpochs(const RunStatistics& from, RunStatistics& sum) {
  for (const EpochStatistics& epoch : from.epochs) {
    EpochStatistics* const line =
        Find(sum.epochs, [&](const EpochStatistics& e) { return e.epoch == epoch.epoch; });
    if (line == nullptr) {
      sum.epochs.push_back(epoch);
      continue;
    }
    line->batches += epoch.batches;
    line->samples += epoch.samples;
    line->seconds = std::max(line->seconds, epoch.seconds);
  }
}

void AddCounts(const RunStatistics& from, RunStatistics& sum) {
  sum.samples += from.samples;
  sum.batches += from.batches;
  sum.samples_per_second += from.samples_per_second;
  sum.startup_seconds += from.startup_seconds;
  sum.pinning_seconds += from.pinning_seconds;
  sum.next_wait_seconds += from.next_wait_seconds;
  sum.queue_busy_seconds += from.queue_busy_seconds;
  sum.queue_polling_seconds += from.queue_polling_seconds;
  sum.bytes_read += from.bytes_read;
  sum.bytes_uploaded += from.bytes_uploaded;
  sum.bytes_gathered += from.bytes_gathered;
  sum.upload_gb_per_s += from.upload_gb_per_s;
  sum.pinned_bytes_peak += from.pinned_bytes_peak;
  sum.device_bytes_peak += from.device_bytes_peak;
  sum.driver_allocations_after_warmup += from.driver_allocations_after_warmup;
  sum.images_decoded_host += from.images_decoded_host;
  sum.images_decoded_device += from.images_decoded_device;
  sum.images_repaired += from.images_repaired;
  sum.cache_hits += from.cache_hits;
  sum.skipped += from.skipped;
  sum.seats += from.seats;
  sum.seats_waiting += from.seats_waiting;
}

void AddTimes(const RunStatistics& from, RunStatistics& sum) {
  sum.seconds = std::max(sum.seconds, from.seconds);
  sum.first_batch_seconds = std::max(sum.first_batch_seconds, from.first_batch_seconds);
  sum.cpu_seconds = std::max(sum.cpu_seconds, from.cpu_seconds);
  sum.copy_gap_p95_us = std::max(sum.copy_gap_p95_us, from.copy_gap_p95_us);
  sum.copy_gap_longest_us = std::max(sum.copy_gap_longest_us, from.copy_gap_longest_us);
}

// The mean of two fractions of `bytes` and `more` bytes.
double Mean(double fraction, int64_t bytes, double other, int64_t more) {
  const double all = static_cast<double>(bytes) + static_cast<double>(more);
  if (all == 0) return 0;
  return (fraction * static_cast<double>(bytes) + other * static_cast<double>(more)) / all;
}

// Before the bytes are added.
void AddFractions(const RunStatistics& from, RunStatistics& sum) {
  for (double RunStatistics::* const fraction :
       {&RunStatistics::overlap_fraction, &RunStatistics::copy_utilisation,
        &RunStatistics::host_writes_per_byte, &RunStatistics::scratch_bytes_per_byte}) {
    sum.*fraction = Mean(sum.*fraction, sum.bytes_uploaded, from.*fraction, from.bytes_uploaded);
  }
}

}  // namespace

RunStatistics SumOverDevices(absl::Span<const RunStatistics> devices) {
  if (devices.empty()) return {};
  RunStatistics sum = devices[0];
  for (const RunStatistics& device : devices.subspan(1)) {
    absl::StrAppend(&sum.device, ",", device.device);
    AddFractions(device, sum);
    AddCounts(device, sum);
    AddTimes(device, sum);
    AddStages(device, sum);
    AddEpochs(device, sum);
  }
  if (devices.size() == 1) return sum;
  // Consumers wait at the same time.
  const double waited = sum.next_wait_seconds;
  sum.next_wait_seconds = waited / static_cast<double>(devices.size());
  Judge(sum);
  sum.next_wait_seconds = waited;
  return sum;
}

}  // namespace penstock
