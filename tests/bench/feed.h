// A consumer that takes batches from a Pipeline as fast as they come, or at a pace. For benchmarks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/graphs/pipeline.h"

namespace penstock::bench {

struct FeedOptions {
  std::string graph;  // A file.
  std::string data;   // Its ${data}.
  std::shared_ptr<Device> device;
  int threads = 0, io_threads = 0;
  double rate = 0;  // Samples a second that are asked for; 0: all that there are.
  // The consumer waits for each batch on the host before it takes the next.
  bool wait_for_each = false;
  // The first batch is never given back: of two in flight, one is left to go round.
  bool hold_first = false;
};

// Of a stretch of the run.
struct FeedFigures {
  double seconds = 0, cpu_seconds = 0;
  int64_t samples = 0, batches = 0;
  int64_t decoded_device = 0, decoded_host = 0;
  int64_t bytes_read = 0, bytes_uploaded = 0, allocations = 0;
  double p50_ms = 0, p95_ms = 0, most_ms = 0;  // From batch to batch.
};

class Feed {
 public:
  // From the reading of the graph on; first_batch() counts from here.
  static absl::StatusOr<std::unique_ptr<Feed>> Create(const FeedOptions& options);

  absl::Duration first_batch() const { return first_batch_; }
  RunStatistics Stats() const { return pipeline_->Stats(); }

  // Takes batches until so many epochs are over.
  absl::Status Epochs(int64_t count);
  // Takes batches for `duration`, or until `*stop`, and measures.
  absl::StatusOr<FeedFigures> Measure(absl::Duration duration,
                                      const std::atomic<bool>* stop = nullptr);

 private:
  explicit Feed(const FeedOptions& options) : options_(options) {}
  // The next batch's samples; 0 at an epoch's end.
  absl::StatusOr<int64_t> Take();

  FeedOptions options_;
  std::unique_ptr<Stream> stream_;  // The consumer's.
  std::unique_ptr<Pipeline> pipeline_;
  std::optional<DeviceBatch> held_;
  absl::Duration first_batch_;
};

}  // namespace penstock::bench
