// Runs a graph in a test and keeps all that was delivered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/memory/sim_device.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock::testing {

// One delivered batch, read by a host stream.
struct Got {
  BatchInfo info;
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> bytes;  // By tensor.
};

struct RunResult {
  absl::Status status;
  std::vector<Got> batches;
  int epoch_ends = 0;
  RunStatistics statistics;

  // All bytes of one tensor, in order of delivery.
  std::string Bytes(absl::string_view tensor) const;
  std::vector<int64_t> Ids(int64_t epoch) const;
};

// Behind Upload: to float32.
inline constexpr absl::string_view kNormalizeNode = R"pb(
  node {
    stage {
      [type.googleapis.com/penstock.Normalize] {
        mean: [ 0.485, 0.456, 0.406 ]
        std: [ 0.229, 0.224, 0.225 ]
      }
    }
  }
)pb";

// A graph over `count` fake images below `root`, decoded, cropped to 8 x 9, in batches of 4, with
// seed 7.
struct FakeGraph {
  std::string root = {};
  int count = 0;
  int seats = 6;
  std::string shuffle = "FULL";
  std::string decode = {};             // Options of DecodeFake.
  std::string cache = {};              // Nodes behind the source,
  std::string before_upload = {};      // behind Collate,
  std::string behind{kNormalizeNode};  // and behind Upload.
};
std::string FakeGraphText(const FakeGraph& graph);

// A device without time, as --device=host.
std::shared_ptr<SimDevice> HostDevice();

// Takes what `next` names until `epochs` have ended, or to the first error.
RunResult TakeAll(Pipeline& pipeline, const NextOptions& next, int64_t epochs);

// Runs `text` to its end (or first error) on a HostDevice unless the options name another.
RunResult RunGraph(const std::string& text, PipelineOptions options);

// The scheduler of the plan of `text`, which has one output, after `change`: for what no option
// says.
absl::StatusOr<std::unique_ptr<Scheduler>> MakeScheduler(
    const std::string& text, const PipelineOptions& options,
    const std::function<void(ExecutionPlan&)>& change);
// Runs it to its end, or first error.
RunResult RunPlan(const std::string& text, const PipelineOptions& options,
                  const std::function<void(ExecutionPlan&)>& change);

}  // namespace penstock::testing
