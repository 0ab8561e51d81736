#include "penstock/tools/graph_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/graphs/device_statistics.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tools/files.h"
#include "penstock/tools/npy_dump.h"

namespace penstock {
namespace {

// How long seats may take to come home once all work is done, and how often to look.
constexpr absl::Duration kSettle = absl::Seconds(1), kLook = absl::Milliseconds(2);

PipelineOptions MakeOptions(const RunFlags& flags) {
  PipelineOptions options;
  options.rank = flags.rank;
  options.world = flags.world;
  options.threads = static_cast<int>(flags.threads);
  options.max_pinned_bytes = flags.graph.max_pinned;
  options.max_device_bytes = flags.graph.max_device;
  options.local_world = flags.graph.local_world;
  options.check_leases = flags.check_leases;
  options.seed = flags.seed;
  options.epochs = flags.epochs;
  return options;
}

// How many of an output's first `most` batches a device gets: those of each epoch go round.
int64_t BatchesOfDevice(const OutputInfo& output, int64_t most, size_t device) {
  if (!output.batches_per_epoch) return most;
  const int64_t epoch = std::max<int64_t>(*output.batches_per_epoch, 1);
  const auto devices = static_cast<int64_t>(output.batches_by_device.size());
  const int64_t rest = most % epoch - static_cast<int64_t>(device);  // Of an epoch cut short.
  return most / epoch * output.batches_by_device[device] +
         std::max<int64_t>(0, (rest + devices - 1) / devices);
}

// The error that ended the run: of those, the first that is not just a cancelled wait.
absl::Status Cause(const std::vector<absl::Status>& results) {
  absl::Status cause;
  for (const absl::Status& result : results) {
    if (!result.ok() && (cause.ok() || absl::IsCancelled(cause))) cause = result;
  }
  return cause;
}

}  // namespace

GraphRun::GraphRun(Graph graph, const RunFlags& flags, std::function<void(absl::string_view)> log)
    : graph_(std::move(graph)), flags_(flags), log_(std::move(log)) {}

GraphRun::~GraphRun() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void GraphRun::Start(std::function<void(const Pipeline&)> on_started) {
  on_started_ = std::move(on_started);
  thread_ = std::thread([this] {
    absl::Status status = Begin();
    if (!status.ok()) return Enter(State::kOver, std::move(status));
    Enter(State::kRunning, absl::OkStatus());
    Enter(State::kOver, ConsumeAll());
  });
}

void GraphRun::Enter(State state, absl::Status status) {
  const std::lock_guard lock(mutex_);
  failed_to_start_ = state == State::kOver && state_ == State::kStarting && !stopped_;
  // A run that was stopped before it was running gets no batch.
  if (state == State::kRunning && stopped_) pipeline_->Cancel();
  state_ = state;
  if (!stopped_) status_ = std::move(status);
  changed_.notify_all();
}

absl::Status GraphRun::Begin() {
  SimOptions sim;
  sim.gb_per_s = flags_.sim_gb_per_s.value_or(0);
  std::string warning;
  PENSTOCK_ASSIGN_OR_RETURN(devices_, OpenDevices(flags_.graph.device, sim, &warning));
  if (!warning.empty()) log_(warning);
  // Before the pipeline, whose count of driver calls has to stand still.
  for (const auto& device : devices_) {
    PENSTOCK_ASSIGN_OR_RETURN(compute_.emplace_back(), device->CreateStream());
  }
  PipelineOptions options = MakeOptions(flags_);
  options.devices = devices_;
  options.log = log_;
  options.stop = stop_start_.get_token();
  PENSTOCK_ASSIGN_OR_RETURN(pipeline_, Pipeline::Create(graph_, std::move(options)));
  on_started_(*pipeline_);
  return absl::OkStatus();
}

std::vector<GraphRun::Share> GraphRun::Shares() const {
  const std::vector<OutputInfo>& outputs = pipeline_->Info().outputs;
  std::vector<Share> shares;
  for (const OutputInfo& output : outputs) {
    std::string folder = flags_.dump_npy;
    if (!folder.empty() && outputs.size() > 1) absl::StrAppend(&folder, "/", output.name);
    for (size_t d = 0; d < devices_.size(); ++d) {
      shares.push_back({output.name, static_cast<int>(d),
                        BatchesOfDevice(output, flags_.max_batches, d), folder});
    }
  }
  return shares;
}

absl::Status GraphRun::ConsumeAll() {
  const std::vector<Share> shares = Shares();
  std::vector<absl::Status> results(shares.size());
  std::vector<std::thread> consumers;
  for (size_t i = 0; i < shares.size(); ++i) {
    consumers.emplace_back([this, &result = results[i], &share = shares[i]] {
      result = Consume(share);
      // One consumer's error ends all.
      if (!result.ok()) pipeline_->Cancel();
    });
  }
  for (std::thread& consumer : consumers) consumer.join();
  PENSTOCK_RETURN_IF_ERROR(Cause(results));
  pipeline_->Cancel();  // With --max_batches there is more, which nobody will take.
  for (size_t d = 0; d < devices_.size(); ++d) {
    PENSTOCK_RETURN_IF_ERROR(devices_[d]->Synchronize(compute_[d]->ref()));
  }
  return absl::OkStatus();
}

absl::Status GraphRun::Consume(const Share& share) {
  const std::shared_ptr<Device>& device = devices_[share.device];
  std::optional<NpyDump> dump;
  if (!share.dump_folder.empty()) {
    PENSTOCK_RETURN_IF_ERROR(MakeFolder(share.dump_folder));
    dump.emplace(device, share.dump_folder);
  }
  const StreamRef compute = compute_[share.device]->ref();
  const absl::Duration work = absl::Milliseconds(flags_.compute_ms.value_or(0));
  NextOptions next;
  next.output = share.output;
  next.device = share.device;
  int64_t batches = 0;
  for (int64_t epoch = 0; epoch < flags_.epochs && batches < share.batches;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline_->Next(next));
    if (!batch) {
      ++epoch;
      continue;
    }
    ++batches;
    batch->WaitOn(compute);
    if (dump) PENSTOCK_RETURN_IF_ERROR(dump->Write(*batch, compute));
    if (work > absl::ZeroDuration()) PENSTOCK_RETURN_IF_ERROR(device->Occupy(compute, work));
    PENSTOCK_RETURN_IF_ERROR(batch->status());
  }
  return absl::OkStatus();
}

void GraphRun::Stop() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kOver) return;
  stopped_ = true;
  stop_start_.request_stop();
  if (state_ == State::kRunning) pipeline_->Cancel();
  changed_.notify_all();
}

bool GraphRun::WaitFor(absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, absl::ToChronoNanoseconds(timeout), [this] {
    return state_ == State::kOver || (stopped_ && state_ == State::kStarting);
  });
}

GraphRun::State GraphRun::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

absl::Status GraphRun::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

bool GraphRun::failed_to_start() const {
  const std::lock_guard lock(mutex_);
  return failed_to_start_;
}

RunStatistics GraphRun::Asked() const {
  RunStatistics asked;
  asked.graph = graph_.config().name();
  asked.device = flags_.graph.device;
  asked.rank = flags_.rank;
  asked.world = flags_.world;
  return asked;
}

std::vector<OutputStatistics> GraphRun::Statistics() const {
  std::vector<OutputStatistics> statistics;
  if (state() == State::kStarting || pipeline_ == nullptr) return statistics;
  for (const OutputInfo& output : pipeline_->Info().outputs) {
    OutputStatistics& entry = statistics.emplace_back();
    entry.output = output.name;
    for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
      entry.devices.push_back(pipeline_->Stats(output.name, d));
    }
    entry.statistics = SumOverDevices(entry.devices);
  }
  return statistics;
}

std::vector<OutputStatistics> GraphRun::FinalStatistics() const {
  const auto total = [](const std::vector<OutputStatistics>& outputs) {
    double seconds = 0;
    for (const OutputStatistics& output : outputs) seconds += output.statistics.seconds;
    return seconds;
  };
  const absl::Time deadline = absl::Now() + kSettle;
  std::vector<OutputStatistics> before = Statistics();
  for (;;) {
    absl::SleepFor(kLook);
    std::vector<OutputStatistics> now = Statistics();
    if (total(now) == total(before) || absl::Now() >= deadline) return now;
    before = std::move(now);
  }
}

std::optional<int64_t> GraphRun::TotalBatches() const {
  if (state() == State::kStarting || pipeline_ == nullptr) return std::nullopt;
  int64_t total = 0;
  for (const OutputInfo& output : pipeline_->Info().outputs) {
    if (output.batches_per_epoch) {
      total += std::min(flags_.max_batches, *output.batches_per_epoch * flags_.epochs);
    } else if (flags_.max_batches != RunFlags().max_batches) {
      total += flags_.max_batches;
    } else {
      return std::nullopt;
    }
  }
  return total;
}

}  // namespace penstock
