#include "penstock/tests/pipeline/run.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "penstock/graphs/planner.h"
#include "penstock/memory/status_macros.h"

namespace penstock::testing {
namespace {

constexpr int kThreads = 3;
constexpr absl::Duration kPatience = absl::Seconds(30);

Got Keep(const DeviceBatch& batch) {
  Got got;
  got.info = batch.info();
  for (const auto& [name, view] : batch.tensors()) {
    got.names.push_back(name);
    got.shapes.push_back(view.shape);
    got.bytes.emplace_back(reinterpret_cast<const char*>(view.data), view.bytes());
  }
  return got;
}

template <class Next>
RunResult Take(Next next, int64_t epochs) {
  RunResult run;
  while (run.epoch_ends < epochs) {
    absl::StatusOr<std::optional<DeviceBatch>> batch = next();
    if (!batch.ok()) {
      run.status = batch.status();
      break;
    }
    if (!*batch) {
      ++run.epoch_ends;
      continue;
    }
    (*batch)->WaitOn(StreamRef::LegacyDefault());
    run.batches.push_back(Keep(**batch));
  }
  return run;
}

}  // namespace

std::string RunResult::Bytes(absl::string_view tensor) const {
  std::string all;
  for (const Got& got : batches) {
    for (size_t i = 0; i < got.names.size(); ++i) {
      if (got.names[i] == tensor) all += got.bytes[i];
    }
  }
  return all;
}

std::vector<int64_t> RunResult::Ids(int64_t epoch) const {
  std::vector<int64_t> ids;
  for (const Got& got : batches) {
    if (got.info.epoch == epoch) ids.insert(ids.end(), got.info.ids.begin(), got.info.ids.end());
  }
  return ids;
}

std::string FakeGraphText(const FakeGraph& graph) {
  return absl::StrReplaceAll(
      R"pb(
        order { shuffle: $shuffle }
        batches_in_flight: $seats
        seed: 7
        node {
          stage {
            [type.googleapis.com/penstock.testing.ReadFake] { root: "$root" count: $count }
          }
        } $cache
        node {
          stage {
            [type.googleapis.com/penstock.testing.DecodeFake] { $decode }
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.testing.CropFake] { height: 8 width: 9 }
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.Collate] { batch_size: 4 }
          }
        } $before_upload
        node {
          stage {
            [type.googleapis.com/penstock.Upload] {}
          }
        } $nodes)pb",
      {{"$shuffle", graph.shuffle},
       {"$seats", absl::StrCat(graph.seats)},
       {"$root", graph.root},
       {"$count", absl::StrCat(graph.count)},
       {"$cache", graph.cache},
       {"$decode", graph.decode},
       {"$before_upload", graph.before_upload},
       {"$nodes", graph.behind}});
}

std::shared_ptr<SimDevice> HostDevice() {
  SimOptions options;
  options.name = "host";
  return SimDevice::Create(options);
}

RunResult TakeAll(Pipeline& pipeline, const NextOptions& next, int64_t epochs) {
  RunResult run = Take([&] { return pipeline.Next(next); }, epochs);
  run.statistics = pipeline.Stats(next.output, next.device);
  return run;
}

RunResult RunGraph(const std::string& text, PipelineOptions options) {
  RunResult run;
  if (options.devices.empty()) options.devices = {HostDevice()};
  const Registry& registry = options.registry != nullptr ? *options.registry : Registry::Default();
  const auto graph = ParseGraph(text, "test.textproto", {}, registry);
  if (!graph.ok()) {
    run.status = graph.status();
    return run;
  }
  auto pipeline = Pipeline::Create(*graph, options);
  if (!pipeline.ok()) {
    run.status = pipeline.status();
    return run;
  }
  NextOptions next;
  next.timeout = kPatience;
  return TakeAll(**pipeline, next, options.epochs);
}

absl::StatusOr<std::unique_ptr<Scheduler>> MakeScheduler(
    const std::string& text, const PipelineOptions& options,
    const std::function<void(ExecutionPlan&)>& change) {
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph,
                            ParseGraph(text, "test.textproto", {}, *options.registry));
  PlannerOptions planner;
  planner.registry = options.registry;
  planner.epochs = options.epochs;
  planner.max_device_bytes = options.max_device_bytes;
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<PlannedOutput> outputs, MakePlans(graph, planner));
  change(outputs.front().plan);
  SchedulerResources resources;
  resources.arena = std::make_shared<FlowArena>(kThreads);
  resources.log = [](absl::string_view) {};
  PENSTOCK_ASSIGN_OR_RETURN(resources.io, IoPool::Create(kThreads));
  const auto device = options.devices.empty() ? HostDevice() : options.devices.front();
  PENSTOCK_ASSIGN_OR_RETURN(resources.queue, DeviceQueue::Create(device));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Scheduler> scheduler,
                            Scheduler::Create(std::move(outputs.front().plan), resources));
  scheduler->Start();
  return scheduler;
}

RunResult RunPlan(const std::string& text, const PipelineOptions& options,
                  const std::function<void(ExecutionPlan&)>& change) {
  const auto scheduler = MakeScheduler(text, options, change);
  if (!scheduler.ok()) {
    RunResult run;
    run.status = scheduler.status();
    return run;
  }
  RunResult run = Take([&] { return (*scheduler)->Next(kPatience); }, options.epochs);
  run.statistics = (*scheduler)->Statistics();
  return run;
}

}  // namespace penstock::testing
