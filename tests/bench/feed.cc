#include "penstock/tests/bench/feed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tests/bench/figures.h"

namespace penstock::bench {
namespace {

// The value below which `part` of them lie; sorts them.
double Quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace

absl::StatusOr<std::unique_ptr<Feed>> Feed::Create(const FeedOptions& options) {
  const absl::Time start = absl::Now();
  std::unique_ptr<Feed> feed(new Feed(options));
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph, LoadGraph(options.graph, {{"data", options.data}}));
  PipelineOptions pipeline;
  pipeline.devices = {options.device};
  pipeline.epochs = kForever;
  pipeline.threads = options.threads;
  pipeline.io_threads = options.io_threads;
  PENSTOCK_ASSIGN_OR_RETURN(feed->stream_, options.device->CreateStream());
  PENSTOCK_ASSIGN_OR_RETURN(feed->pipeline_, Pipeline::Create(graph, std::move(pipeline)));
  PENSTOCK_RETURN_IF_ERROR(feed->Take().status());
  PENSTOCK_RETURN_IF_ERROR(options.device->Synchronize(feed->stream_->ref()));
  feed->first_batch_ = absl::Now() - start;
  return feed;
}

absl::StatusOr<int64_t> Feed::Take() {
  PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline_->Next());
  if (!batch) return 0;
  batch->WaitOn(stream_->ref());
  if (options_.wait_for_each) {
    PENSTOCK_RETURN_IF_ERROR(options_.device->Synchronize(stream_->ref()));
  }
  const int64_t samples = batch->size();
  if (options_.hold_first && !held_) held_ = *std::move(batch);
  return samples;
}

absl::Status Feed::Epochs(int64_t count) {
  while (count > 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const int64_t samples, Take());
    if (samples == 0) --count;
  }
  return options_.device->Synchronize(stream_->ref());
}

absl::StatusOr<FeedFigures> Feed::Measure(absl::Duration duration, const std::atomic<bool>* stop) {
  const RunStatistics before = pipeline_->Stats();
  const int64_t allocations = options_.device->driver_allocations();
  const double cpu = CpuSeconds();
  const absl::Time start = absl::Now();
  FeedFigures figures;
  std::vector<double> intervals;
  absl::Time last = start;
  while (last - start < duration && (stop == nullptr || !*stop)) {
    PENSTOCK_ASSIGN_OR_RETURN(const int64_t samples, Take());
    if (samples == 0) continue;
    ++figures.batches;
    figures.samples += samples;
    if (options_.rate > 0) {
      const double due = static_cast<double>(figures.samples) / options_.rate;
      absl::SleepFor(start + absl::Seconds(due) - absl::Now());
    }
    const absl::Time now = absl::Now();
    intervals.push_back(absl::ToDoubleMilliseconds(now - last));
    last = now;
  }
  PENSTOCK_RETURN_IF_ERROR(options_.device->Synchronize(stream_->ref()));
  figures.seconds = absl::ToDoubleSeconds(absl::Now() - start);
  figures.cpu_seconds = CpuSeconds() - cpu;
  const RunStatistics after = pipeline_->Stats();
  figures.decoded_device = after.images_decoded_device - before.images_decoded_device;
  figures.decoded_host = after.images_decoded_host - before.images_decoded_host;
  figures.bytes_read = after.bytes_read - before.bytes_read;
  figures.bytes_uploaded = after.bytes_uploaded - before.bytes_uploaded;
  figures.allocations = options_.device->driver_allocations() - allocations;
  figures.p50_ms = Quantile(intervals, 0.5);
  figures.p95_ms = Quantile(intervals, 0.95);
  figures.most_ms = Quantile(intervals, 1);
  return figures;
}

}  // namespace penstock::bench
