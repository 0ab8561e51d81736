#include "penstock/graphs/pipeline.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/graphs/device_statistics.h"
#include "penstock/graphs/planner.h"
#include "penstock/graphs/thread_counts.h"
#include "penstock/memory/cpu_set.h"
#include "penstock/scheduler/cpu_budget.h"
#include "penstock/scheduler/io_shares.h"
#include "penstock/scheduler/scheduler.h"

namespace penstock {
namespace {

constexpr int kMaxThreads = 4096;

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
  if (options.local_world < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("local_world is ", options.local_world,
                     ", expected at least 1, or 0 for what the launcher says"));
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

const char* Name(DeviceKind kind) { return kind == DeviceKind::kCuda ? "a CUDA" : "a CPU"; }

bool AreOne(const Device& a, const Device& b) {
  return &a == &b || (a.kind() == DeviceKind::kCuda && b.kind() == DeviceKind::kCuda &&
                      a.dl_device().device_id == b.dl_device().device_id);
}

// One plan is made for all.
absl::Status CheckDevices(const std::vector<std::shared_ptr<Device>>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("devices: number ", i, " is null"));
    }
    for (size_t j = 0; j < i; ++j) {
      if (AreOne(*devices[j], *devices[i])) {
        return absl::InvalidArgumentError(absl::StrCat("devices: numbers ", j, " and ", i, " are ",
                                                       devices[i]->name(),
                                                       "; expected each device once"));
      }
    }
    if (devices[i]->kind() != devices[0]->kind()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "devices: ", devices[0]->name(), " is ", Name(devices[0]->kind()), " device and ",
          devices[i]->name(), " ", Name(devices[i]->kind()), " one; expected one kind"));
    }
  }
  return absl::OkStatus();
}

std::string Quoted(const std::string& name) { return absl::StrCat("'", name, "'"); }

// Of the schedulers of all devices.
OutputInfo MakeInfo(const std::vector<std::unique_ptr<Scheduler>>& schedulers) {
  const ExecutionPlan& plan = schedulers.front()->plan();
  OutputInfo info;
  info.name = plan.name;
  info.tensors.push_back({plan.output().name, plan.output().dtype, plan.output().shape});
  for (const FixedField& fixed : plan.fixed) {
    info.tensors.push_back({fixed.spec.name, fixed.spec.dtype, fixed.spec.shape});
  }
  if (plan.source->size()) {
    info.samples_per_epoch = info.batches_per_epoch = 0;
    for (const auto& scheduler : schedulers) {
      *info.samples_per_epoch += scheduler->samples_per_epoch();
      *info.batches_per_epoch += scheduler->batches_per_epoch();
      info.batches_by_device.push_back(scheduler->batches_per_epoch());
    }
  }
  info.class_names = plan.source->class_names();
  info.source_summary = plan.source->summary();
  return info;
}

PlannerOptions MakePlannerOptions(const PipelineOptions& options) {
  PlannerOptions planner;
  planner.device = options.devices[0]->kind();
  planner.devices = static_cast<int64_t>(options.devices.size());
  if (options.registry != nullptr) planner.registry = options.registry;
  planner.rank = options.rank;
  planner.world = options.world;
  planner.seed = options.seed;
  planner.first_epoch = options.first_epoch;
  planner.epochs = options.epochs;
  planner.max_pinned_bytes = options.max_pinned_bytes;
  planner.max_device_bytes = options.max_device_bytes;
  for (const auto& device : options.devices) {
    const int64_t free = device->free_bytes();
    const bool least = planner.free_device_bytes == 0 || free < planner.free_device_bytes;
    if (free > 0 && least) planner.free_device_bytes = free;
  }
  planner.machine = ReadMemoryLimits();
  planner.local_world = FindLocalWorld(std::getenv);
  if (options.local_world > 0) planner.local_world = {options.local_world, "local_world"};
  planner.log = options.log;
  return planner;
}

// Batches of all outputs are nothing but launches.
bool AreAllKept(const std::vector<PlannedOutput>& plans) {
  return std::all_of(plans.begin(), plans.end(),
                     [](const PlannedOutput& output) { return output.plan.only_launches(); });
}

std::vector<IoShare> ShareIo(const PipelineOptions& options, int threads, PipelineInfo& info) {
  std::vector<std::vector<int>> near_cpus;
  for (const auto& device : options.devices) near_cpus.push_back(device->near_cpus());
  std::vector<IoShare> shares = ShareIoThreads(near_cpus, AllowedCpus(), threads);
  for (const IoShare& share : shares) {
    IoThreadsInfo& of_share = info.io_threads.emplace_back();
    of_share.threads = share.threads;
    of_share.cpus = CpuListText(share.cpus);
    for (const size_t d : share.devices) of_share.devices.push_back(info.devices[d]);
  }
  return shares;
}

// One set a device; all share the threads that work on samples.
absl::StatusOr<std::vector<SchedulerResources>> MakeResources(const PipelineOptions& options,
                                                              int threads,
                                                              absl::Span<const IoShare> io) {
  SchedulerResources shared;
  shared.arena = std::make_shared<FlowArena>(threads);
  shared.log = options.log;
  shared.check_leases = options.check_leases;
  shared.stop = options.stop;
  std::vector<SchedulerResources> resources(options.devices.size(), shared);
  for (const IoShare& share : io) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<IoPool> pool,
                              IoPool::Create(share.threads, share.cpus));
    for (const size_t d : share.devices) resources[d].io = pool;
  }
  for (size_t d = 0; d < resources.size(); ++d) {
    PENSTOCK_ASSIGN_OR_RETURN(resources[d].queue, DeviceQueue::Create(options.devices[d]));
  }
  return resources;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(const Graph& graph,
                                                           PipelineOptions options) {
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options));
  if (options.devices.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(options.devices.emplace_back(), CurrentCudaDevice());
  }
  PENSTOCK_RETURN_IF_ERROR(CheckDevices(options.devices));
  if (!options.log) options.log = [](absl::string_view) {};
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<PlannedOutput> plans,
                            MakePlans(graph, MakePlannerOptions(options)));

  std::unique_ptr<Pipeline> pipeline(new Pipeline);
  pipeline->graph_name_ = graph.config().name();
  for (const auto& device : options.devices) pipeline->info_.devices.push_back(device->name());
  const ThreadCounts counts =
      ChooseThreads(options.threads, options.io_threads, AreAllKept(plans), GetCpuBudget());
  pipeline->info_.threads = counts.threads;
  pipeline->info_.threads_reason = counts.reason;
  const std::vector<IoShare> io = ShareIo(options, counts.io_threads, pipeline->info_);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<SchedulerResources> resources,
                            MakeResources(options, counts.threads, io));
  for (PlannedOutput& planned : plans) {
    PENSTOCK_RETURN_IF_ERROR(pipeline->AddOutput(std::move(planned.plan), resources));
  }
  // All together: the run of none has begun while another still fills its cache.
  for (const Output& output : pipeline->outputs_) {
    for (const auto& scheduler : output) scheduler->Start();
  }
  return pipeline;
}

absl::Status Pipeline::AddOutput(ExecutionPlan plan,
                                 absl::Span<const SchedulerResources> resources) {
  Output& output = outputs_.emplace_back();
  for (size_t d = 0; d < resources.size(); ++d) {
    plan.device = static_cast<int64_t>(d);
    PENSTOCK_ASSIGN_OR_RETURN(output.emplace_back(), Scheduler::Create(plan, resources[d]));
  }
  info_.outputs.push_back(MakeInfo(output));
  return absl::OkStatus();
}

Pipeline::~Pipeline() {
  if (fork_guard_.forked()) {
    // Its end would wait for threads.
    (void)new (std::nothrow) std::vector<Output>(std::move(outputs_));
    return;
  }
  Cancel();  // All at once; each then drains.
}

absl::StatusOr<const Pipeline::Output*> Pipeline::FindOutput(absl::string_view name) const {
  if (name.empty() && outputs_.size() == 1) return outputs_.data();
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (info_.outputs[i].name == name) return &outputs_[i];
    names.push_back(Quoted(info_.outputs[i].name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no output '", name, "'; the graph has ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<Scheduler*> Pipeline::Find(const NextOptions& options) const {
  PENSTOCK_ASSIGN_OR_RETURN(const Output* output, FindOutput(options.output));
  const int devices = static_cast<int>(output->size());
  if (!options.device && devices > 1) {
    return absl::InvalidArgumentError(absl::StrCat("device: not said of which; expected 0 to ",
                                                   devices - 1, " for ",
                                                   absl::StrJoin(info_.devices, ", ")));
  }
  const int device = options.device.value_or(0);
  if (device < 0 || device >= devices) {
    return absl::InvalidArgumentError(absl::StrCat("device: ", device, ", expected 0 to ",
                                                   devices - 1, " for ",
                                                   absl::StrJoin(info_.devices, ", ")));
  }
  return (*output)[device].get();
}

absl::StatusOr<std::optional<DeviceBatch>> Pipeline::Next(absl::Duration timeout) {
  NextOptions options;
  options.timeout = timeout;
  return Next(options);
}

absl::StatusOr<std::optional<DeviceBatch>> Pipeline::Next(const NextOptions& options) {
  if (fork_guard_.forked()) {
    return absl::FailedPreconditionError(
        "the pipeline was created before fork() and works in its own process only; create it in "
        "the child");
  }
  PENSTOCK_ASSIGN_OR_RETURN(Scheduler * scheduler, Find(options));
  absl::StatusOr<std::optional<DeviceBatch>> next = scheduler->Next(options.timeout);
  if (next.ok() || absl::IsDeadlineExceeded(next.status())) return next;
  return EndWith(next.status());
}

// What a Next() gives instead of its own `error`.
absl::Status Pipeline::EndWith(const absl::Status& error) {
  {
    const std::lock_guard lock(error_mutex_);
    // Cancelled: by an error that another one met, if there is one.
    if (!error_.ok() || absl::IsCancelled(error)) return error_.ok() ? error : error_;
    error_ = error;
  }
  Cancel();
  return error;
}

void Pipeline::StartEpoch(int64_t epoch) {
  if (fork_guard_.forked()) return;
  for (const Output& output : outputs_) {
    for (const auto& scheduler : output) scheduler->StartEpoch(epoch);
  }
}

void Pipeline::Cancel() {
  if (fork_guard_.forked()) return;
  for (const Output& output : outputs_) {
    for (const auto& scheduler : output) scheduler->Cancel();
  }
}

void Pipeline::Finish() {
  if (fork_guard_.forked()) return;
  for (const Output& output : outputs_) {
    for (const auto& scheduler : output) scheduler->Finish();
  }
}

RunStatistics Pipeline::Stats(absl::string_view output, std::optional<int> device) const {
  std::vector<RunStatistics> devices;
  if (fork_guard_.forked()) return {};
  if (const auto found = FindOutput(output); found.ok()) {
    for (size_t d = 0; d < (*found)->size(); ++d) {
      if (device && static_cast<size_t>(*device) != d) continue;
      devices.push_back((**found)[d]->Statistics());
      devices.back().graph = graph_name_;
    }
  }
  return SumOverDevices(devices);
}

}  // namespace penstock
