#include "penstock/graphs/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/graphs/planner.h"
#include "penstock/scheduler/cpu_budget.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock {
namespace {

constexpr int kMaxThreads = 4096, kMinIoThreads = 4;

absl::Status CheckThreads(const char* name, int threads) {
  if (threads >= 0 && threads <= kMaxThreads) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", threads, ", expected 1 to ",
                                                 kMaxThreads,
                                                 ", or 0 for what the machine allows"));
}

absl::Status CheckOptions(const PipelineOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckThreads("threads", options.threads));
  PENSTOCK_RETURN_IF_ERROR(CheckThreads("io_threads", options.io_threads));
  if (options.epochs < 0 && options.epochs != kForever) {
    return absl::InvalidArgumentError(
        absl::StrCat("epochs is ", options.epochs, ", expected at least 0, or kForever"));
  }
  if (options.first_epoch < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("first_epoch is ", options.first_epoch, ", expected at least 0"));
  }
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    return absl::InvalidArgumentError(absl::StrCat("rank is ", options.rank, " and world is ",
                                                   options.world,
                                                   ", expected world >= 1 and 0 <= rank < world"));
  }
  return absl::OkStatus();
}

OutputInfo MakeInfo(const Scheduler& scheduler) {
  const ExecutionPlan& plan = scheduler.plan();
  OutputInfo info;
  info.name = plan.name;
  info.tensors.push_back({plan.output().name, plan.output().dtype, plan.output().shape});
  for (const FixedField& fixed : plan.fixed) {
    info.tensors.push_back({fixed.spec.name, fixed.spec.dtype, fixed.spec.shape});
  }
  if (plan.source->size()) {
    info.samples_per_epoch = scheduler.samples_per_epoch();
    info.batches_per_epoch = scheduler.batches_per_epoch();
  }
  info.class_names = plan.source->class_names();
  info.source_summary = plan.source->summary();
  return info;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(const Graph& graph,
                                                           PipelineOptions options) {
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options));
  if (options.device == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(options.device, CurrentCudaDevice());
  }
  if (!options.log) options.log = [](absl::string_view) {};
  PlannerOptions planner;
  planner.device = options.device->kind();
  if (options.registry != nullptr) planner.registry = options.registry;
  planner.rank = options.rank;
  planner.world = options.world;
  planner.seed = options.seed;
  planner.first_epoch = options.first_epoch;
  planner.epochs = options.epochs;
  planner.max_pinned_bytes = options.max_pinned_bytes;
  planner.max_device_bytes = options.max_device_bytes;
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<PlannedOutput> plans, MakePlans(graph, planner));

  std::unique_ptr<Pipeline> pipeline(new Pipeline);
  pipeline->graph_name_ = graph.config().name();
  const CpuBudget budget = GetCpuBudget();
  pipeline->info_.threads = options.threads > 0 ? options.threads : budget.threads;
  pipeline->info_.threads_reason = options.threads > 0 ? "as asked" : budget.reason;
  SchedulerResources resources;
  resources.threads = pipeline->info_.threads;
  resources.log = options.log;
  const int io_threads =
      options.io_threads > 0 ? options.io_threads : std::max(kMinIoThreads, resources.threads);
  PENSTOCK_ASSIGN_OR_RETURN(resources.io, IoPool::Create(io_threads));
  PENSTOCK_ASSIGN_OR_RETURN(resources.queue, DeviceQueue::Create(options.device));
  for (PlannedOutput& planned : plans) {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Scheduler> scheduler,
                              Scheduler::Create(std::move(planned.plan), resources));
    pipeline->info_.outputs.push_back(MakeInfo(*scheduler));
    pipeline->outputs_.push_back(std::move(scheduler));
  }
  return pipeline;
}

Pipeline::~Pipeline() = default;

absl::StatusOr<Scheduler*> Pipeline::Find(absl::string_view output) const {
  if (output.empty() && outputs_.size() == 1) return outputs_[0].get();
  std::vector<std::string> names;
  for (const auto& scheduler : outputs_) {
    if (scheduler->plan().name == output) return scheduler.get();
    names.push_back(absl::StrCat("'", scheduler->plan().name, "'"));
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no output '", output,
                                                 "'; the graph has ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::optional<DeviceBatch>> Pipeline::Next(absl::Duration timeout) {
  NextOptions options;
  options.timeout = timeout;
  return Next(options);
}

absl::StatusOr<std::optional<DeviceBatch>> Pipeline::Next(const NextOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(Scheduler * scheduler, Find(options.output));
  return scheduler->Next(options.timeout);
}

void Pipeline::StartEpoch(int64_t epoch) {
  for (const auto& scheduler : outputs_) scheduler->StartEpoch(epoch);
}

void Pipeline::Cancel() {
  for (const auto& scheduler : outputs_) scheduler->Cancel();
}

void Pipeline::Finish() {
  for (const auto& scheduler : outputs_) scheduler->Finish();
}

RunStatistics Pipeline::Stats(absl::string_view output) const {
  absl::StatusOr<Scheduler*> scheduler = Find(output);
  if (!scheduler.ok()) return {};
  RunStatistics statistics = (*scheduler)->Statistics();
  statistics.graph = graph_name_;
  return statistics;
}

}  // namespace penstock
