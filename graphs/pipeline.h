// Pipeline: what an embedder uses.
//
//   #include "penstock/graphs/pipeline.h"      // deps = ["@penstock//:penstock"]
//
//   PENSTOCK_ASSIGN_OR_RETURN(auto graph, LoadGraph("train.textproto", {{"data", "/data/train"}}));
//   PENSTOCK_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Create(graph, {.epochs = 90}));
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     for (;;) {
//       PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline->Next());
//       if (!batch) break;                        // once at each epoch's end
//       batch->WaitOn(compute);                   // the host never stalls
//       Step(batch->tensor("image"), batch->tensor("label"), compute);
//     }                                           // the seat returns once `compute` is here
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "penstock/graphs/graph.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/device.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/statistics.h"
#include "penstock/stages/registry.h"

namespace penstock {

class Scheduler;

// What a graph leaves open; every flag of the command `penstock run` fills the field of its name.
struct PipelineOptions {
  // OpenDevice("cuda:1"), ("host"), ("sim"); null: the caller's current CUDA device.
  std::shared_ptr<Device> device;
  // Of `world` processes that share each epoch, this one is number `rank`.
  int64_t rank = 0, world = 1;
  // Threads that work on samples, 1 to 4096; 0: what affinity and cgroup allow.
  int threads = 0;
  // Threads that read files, 1 to 4096; 0: as `threads`, at least 4. They sleep when they have
  // nothing to read.
  int io_threads = 0;
  // Budgets for the plan's slabs, in bytes; 0: none. A plan that needs more is refused.
  int64_t max_pinned_bytes = 0, max_device_bytes = 0;
  // Overrides the graph's seed.
  std::optional<uint64_t> seed;
  // The run goes over epochs [first_epoch, first_epoch + epochs); kForever: without end.
  int64_t first_epoch = 0, epochs = 1;
  // Where stages are looked up; null: the default registry.
  const Registry* registry = nullptr;
  // Gets a line at a time, on any thread: warnings, and a consumer that starves itself. Empty:
  // dropped.
  std::function<void(absl::string_view line)> log;
};

struct NextOptions {
  // How long to wait; then DeadlineExceeded, and the call may be repeated.
  absl::Duration timeout = absl::InfiniteDuration();
  // Name of a terminal node; may be left out where there is one.
  std::string output;
};

// What is known before the first batch.
struct TensorInfo {
  std::string name;
  DLDataType dtype;
  std::vector<int64_t> shape;  // Of one sample.
};
struct OutputInfo {
  std::string name;  // Of the terminal node.
  std::vector<TensorInfo> tensors;
  // Of this rank; nullopt for an unbounded source.
  std::optional<int64_t> samples_per_epoch, batches_per_epoch;
  std::vector<std::string> class_names;
  std::string source_summary;
};
struct PipelineInfo {
  std::vector<OutputInfo> outputs;
  int threads = 1;
  std::string threads_reason;
};

// Thread-safe. The destructor cancels, drains and joins; batches may outlive it.
class Pipeline {
 public:
  // Validates, allocates every pool once, and starts to fill it. InvalidArgument: graph or options
  // are wrong (all faults, one a line); any other code: the data or the device.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(const Graph& graph,
                                                          PipelineOptions options = {});
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The next batch of an output, in order; may be called from several threads, and each batch goes
  // to one of them. nullopt: once at each epoch's end, to one caller; after the last epoch to all,
  // for ever. An error ends the run: the first one in the order of batches, then the same for ever.
  // Prefetch goes on across the end of an epoch.
  absl::StatusOr<std::optional<DeviceBatch>> Next(
      absl::Duration timeout = absl::InfiniteDuration());
  absl::StatusOr<std::optional<DeviceBatch>> Next(const NextOptions& options);

  // Goes on at the beginning of `epoch`, on every output; what is prefetched is dropped.
  void StartEpoch(int64_t epoch);
  // Wakes every Next() with CANCELLED, for ever.
  void Cancel();
  // Closes unbounded sources; what has arrived is still delivered.
  void Finish();

  // Of an output, as in NextOptions.
  RunStatistics Stats(absl::string_view output = "") const;
  const PipelineInfo& Info() const { return info_; }

 private:
  Pipeline() = default;
  absl::StatusOr<Scheduler*> Find(absl::string_view output) const;

  std::string graph_name_;
  PipelineInfo info_;
  std::vector<std::unique_ptr<Scheduler>> outputs_;
};

}  // namespace penstock
