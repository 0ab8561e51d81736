// OutputPlanner: plans the way from a source to one terminal node. Private to graphs/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/planner.h"
#include "penstock/graphs/validate.h"

namespace penstock {

// Bytes of encoded samples, by some that are spread over all of them.
struct SampleSizes {
  int64_t samples = 0, looked_at = 0;
  double mean = 0, sigma = 0;  // Of one.

  // What the mean of `count` samples does not exceed, but about once in 10^9 times.
  double MostOf(int64_t count) const;
};

// The steps are called in the order in which they stand here, each only if no fault was found
// before.
class OutputPlanner {
 public:
  // All must outlive it. `way`: node indices from the source down.
  OutputPlanner(const Graph& graph, const ValidGraph& valid, const std::vector<int>& way,
                const PlannerOptions& options, GraphErrors& errors);

  // Makes each stage from its options; their faults go into the errors.
  void MakeStages();
  // Lets the source find its samples. An error is the data's.
  absl::Status OpenSource();
  // Specs from the source to the end, and the shape that is collated.
  void InferShapes();
  // Device forms, sides, and the slab's layout.
  absl::Status PlaceStages();
  PlannedOutput Take();

 private:
  void MakeNode(int index, bool behind_collate);
  void AddError(int node, const absl::Status& status);
  void FindChainField();
  void CheckCollated();
  bool CheckCachable();
  std::string MakeGather();
  bool PlaceCache();
  absl::Status PlaceEncodedCache();
  CachePlace ChooseEncodedPlace(int64_t all_bytes, std::string& why) const;
  bool CanMapSamples() const;
  CachePlace ChooseGatherPlace(std::string& why);
  CachePlace ChoosePlace(int64_t all_bytes, bool mapped, const std::string& all,
                         std::string& why) const;
  void LayOutGather();
  bool ChooseWhole();
  std::string WhyNotOnDevice(Place& asked, int& asking_node) const;
  absl::Status LayOut();
  void AddTables();
  absl::StatusOr<SampleSizes> MeasureSamples();
  absl::StatusOr<size_t> EncodedBytes();
  void ChooseSeats(size_t seat_bytes, int64_t all_bytes, int64_t least, int64_t most);

  const Graph& graph_;
  const ValidGraph& valid_;
  const std::vector<int>& way_;
  const PlannerOptions& options_;
  GraphErrors& errors_;

  PlannedOutput out_;
  BatchSettings settings_;
  std::vector<std::string> types_;  // Full names of the chain's options messages.
  std::vector<int> link_nodes_;     // Node indices of the chain's links.
  int source_node_ = -1, collate_node_ = -1, cache_node_ = -1;
  SampleSpec spec_;
  std::optional<SampleSizes> sizes_;  // Looked at once.
};

}  // namespace penstock
