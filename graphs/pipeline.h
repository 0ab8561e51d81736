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
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "penstock/graphs/graph.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/device.h"
#include "penstock/memory/fork_guard.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/statistics.h"
#include "penstock/stages/order/epoch.h"
#include "penstock/stages/registry.h"

namespace penstock {

class Scheduler;
struct ExecutionPlan;
struct SchedulerResources;

// What a graph leaves open; every flag of the command `penstock run` fills the field of its name.
struct PipelineOptions {
  // Where batches go: OpenDevices("cuda:0,cuda:1"). Several get the batches of each epoch in turn,
  // batch n the n-th modulo their number, and each is an output of its own with its own seats; all
  // must be of one kind, and none may be there twice. Empty: the caller's current CUDA device.
  std::vector<std::shared_ptr<Device>> devices;
  // Of `world` processes that share each epoch, this one is number `rank`.
  int64_t rank = 0, world = 1;
  // Threads that work on samples, 1 to 4096; 0: what affinity and cgroup allow, at most 6 where all
  // samples are kept within the device's reach.
  int threads = 0;
  // Threads that read files, 1 to 4096; 0: as `threads`, at least 4, and no fewer where all samples
  // are kept: these read them before the first batch. They sleep when they have nothing to read.
  // They are bound to the CPUs of their device's NUMA node, as far as the caller may use these;
  // where devices are on different nodes, each node has its part, at least one.
  int io_threads = 0;
  // Budgets for the memory plan, in bytes; 0: none. Pinned: of all outputs and devices together;
  // device: of all outputs, on each. A plan that needs more is refused with InvalidArgument, and
  // one that needs more than the machine has left (cgroups, MemAvailable) with ResourceExhausted.
  int64_t max_pinned_bytes = 0, max_device_bytes = 0;
  // Processes on this machine that run such a pipeline, and may each have their share of what is
  // left; 0: as the launcher says (LOCAL_WORLD_SIZE and the like), or 1.
  int64_t local_world = 0;
  // Looks for a consumer that writes into a batch after having released it, and ends the run with
  // an error that names batch and streams. For debugging: each round of a seat fills and reads back
  // its slabs, and waits for that. See memory/lease_check.h.
  bool check_leases = false;
  // Overrides the graph's seed.
  std::optional<uint64_t> seed;
  // The run goes over epochs [first_epoch, first_epoch + epochs); kForever: without end.
  int64_t first_epoch = 0, epochs = 1;
  // Where stages are looked up; null: the default registry.
  const Registry* registry = nullptr;
  // Makes Create() give up with CANCELLED, from any thread: while it fills a Cache within one block
  // of reading, else before the next output or device. Once it has returned there is Cancel().
  std::stop_token stop;
  // Gets a line at a time, on any thread: warnings, and a consumer that starves itself. Empty:
  // dropped.
  std::function<void(absl::string_view line)> log;
};

struct NextOptions {
  // How long to wait; then DeadlineExceeded, and the call may be repeated.
  absl::Duration timeout = absl::InfiniteDuration();
  // Name of a terminal node; may be left out where there is one.
  std::string output;
  // Index in PipelineOptions.devices; may be left out where there is one.
  std::optional<int> device;
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
  // Of this rank, all devices together; nullopt for an unbounded source.
  std::optional<int64_t> samples_per_epoch, batches_per_epoch;
  // Batches an epoch by device, in the order of PipelineInfo.devices; they differ by at most one,
  // and not at all where the devices' number divides batches_per_epoch. Empty for an unbounded
  // source.
  std::vector<int64_t> batches_by_device;
  std::vector<std::string> class_names;
  std::string source_summary;
};
struct IoThreadsInfo {
  int threads = 1;
  std::string cpus;                  // That they are bound to, "0-15"; empty: to none.
  std::vector<std::string> devices;  // That they read for.
};
struct PipelineInfo {
  std::vector<OutputInfo> outputs;   // One a terminal node.
  std::vector<std::string> devices;  // Names, in the order of PipelineOptions.devices.
  int threads = 1;
  std::string threads_reason;
  // Several where the devices are near different CPUs.
  std::vector<IoThreadsInfo> io_threads;
};

// Thread-safe. The destructor cancels, drains and joins; batches may outlive it. In a forked child
// there are none of its threads: Next() then gives FailedPrecondition, and all else does nothing.
class Pipeline {
 public:
  // Validates, allocates every pool once, and starts to fill it. InvalidArgument: graph or options
  // are wrong (all faults, one a line); any other code: the data or the device.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(const Graph& graph,
                                                          PipelineOptions options = {});
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The next batch of an output on a device, in order; may be called from several threads, and each
  // batch goes to one of them. nullopt: once at each epoch's end, to one caller; after the last
  // epoch to all, for ever. Prefetch goes on across the end of an epoch. Outputs and devices share
  // threads and nothing else: one whose consumer holds its batches holds back nobody.
  //
  // An error ends the run on all outputs and devices: each gives the first error that any of them
  // gave (of one: the first in the order of batches), for ever. DeadlineExceeded is none, and
  // neither is InvalidArgument, which names the outputs or devices to choose from.
  absl::StatusOr<std::optional<DeviceBatch>> Next(
      absl::Duration timeout = absl::InfiniteDuration());
  absl::StatusOr<std::optional<DeviceBatch>> Next(const NextOptions& options);

  // Goes on at the beginning of `epoch`, on every output and device; what is prefetched is dropped.
  void StartEpoch(int64_t epoch);
  // Wakes every Next() with CANCELLED, for ever.
  void Cancel();
  // Closes unbounded sources; what has arrived is still delivered.
  void Finish();

  // Of an output, as in NextOptions; without `device`, of all devices together (SumOverDevices()).
  // Empty if there is no such output or device.
  RunStatistics Stats(absl::string_view output = "", std::optional<int> device = {}) const;
  const PipelineInfo& Info() const { return info_; }

 private:
  // The schedulers of one terminal node, by device.
  using Output = std::vector<std::unique_ptr<Scheduler>>;

  Pipeline() = default;
  absl::Status AddOutput(ExecutionPlan plan, absl::Span<const SchedulerResources> resources);
  absl::StatusOr<const Output*> FindOutput(absl::string_view name) const;
  absl::StatusOr<Scheduler*> Find(const NextOptions& options) const;
  absl::Status EndWith(const absl::Status& error);

  const ForkGuard fork_guard_;
  std::string graph_name_;
  PipelineInfo info_;
  std::vector<Output> outputs_;
  std::mutex error_mutex_;
  absl::Status error_;  // Of the run: the first that a Next() gave.
};

}  // namespace penstock
