// One run of a graph, on threads of its own: what `penstock run` does between its flags and its
// files.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/memory/device.h"
#include "penstock/tools/run_flags.h"
#include "penstock/tools/stats_json.h"

namespace penstock {

// Opens the devices, starts the pipeline, and takes every batch of every output and device, on a
// thread each. The consumer's work, if asked for, is put into one compute stream a device; the host
// waits for it at the end only, so copies and work overlap, and seats are the only back-pressure.
//
// Stop(), WaitFor() and Statistics() are thread-safe. The destructor stops and waits.
class GraphRun {
 public:
  enum class State : uint8_t {
    kStarting,  // Also while CUDA is initialised and data sets are listed.
    kRunning,
    kOver,
  };

  // `log` gets warnings, a line at a time, on any thread.
  GraphRun(Graph graph, const RunFlags& flags, std::function<void(absl::string_view)> log);
  ~GraphRun();
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  // Calls `on_started` once batches are on their way.
  void Start(std::function<void(const Pipeline&)> on_started);
  // Ends the run: what is not delivered yet is dropped. What is starting gives up as soon as it can
  // (PipelineOptions::stop), which is not waited for.
  void Stop();
  // Waits for the run's end, or until it was stopped before it was running; false: not within
  // `timeout`.
  bool WaitFor(absl::Duration timeout);

  State state() const;
  // How the run ended; of a run that was stopped, OK.
  absl::Status status() const;
  // True if `status` came before anything was started, and nobody had stopped it.
  bool failed_to_start() const;

  // What is known before there is any output: the names as graph and --device have them.
  RunStatistics Asked() const;
  // Of this moment, one an output; none while it is starting.
  std::vector<OutputStatistics> Statistics() const;
  // The same once all seats are back, so that the clocks stand. For a run that is over.
  std::vector<OutputStatistics> FinalStatistics() const;
  // Of the whole run, of all outputs; nullopt if nobody knows.
  std::optional<int64_t> TotalBatches() const;

 private:
  // What one consumer takes: so many batches of one output on one device.
  struct Share {
    std::string output;
    int device = 0;
    int64_t batches = 0;
    std::string dump_folder;  // Empty: not asked for.
  };

  absl::Status Begin();
  std::vector<Share> Shares() const;
  absl::Status ConsumeAll();
  absl::Status Consume(const Share& share);
  void Enter(State state, absl::Status status);

  const Graph graph_;
  const RunFlags flags_;
  const std::function<void(absl::string_view)> log_;
  std::function<void(const Pipeline&)> on_started_;

  // Each outlives what follows it.
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Stream>> compute_;  // By device.
  std::unique_ptr<Pipeline> pipeline_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kStarting;
  bool stopped_ = false, failed_to_start_ = false;
  std::stop_source stop_start_;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace penstock
