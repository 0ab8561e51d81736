#include "penstock/tools/graph_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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
  options.seed = flags.seed;
  options.epochs = flags.epochs;
  return options;
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
  failed_to_start_ = state == State::kOver && state_ == State::kStarting;
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
  PENSTOCK_ASSIGN_OR_RETURN(device_, OpenDevice(flags_.graph.device, sim, &warning));
  if (!warning.empty()) log_(warning);
  // Before the pipeline, whose count of driver calls has to stand still.
  PENSTOCK_ASSIGN_OR_RETURN(compute_, device_->CreateStream());
  PipelineOptions options = MakeOptions(flags_);
  options.device = device_;
  options.log = log_;
  PENSTOCK_ASSIGN_OR_RETURN(pipeline_, Pipeline::Create(graph_, std::move(options)));
  on_started_(*pipeline_);
  return absl::OkStatus();
}

absl::Status GraphRun::ConsumeAll() {
  const std::vector<OutputInfo>& outputs = pipeline_->Info().outputs;
  std::vector<absl::Status> results(outputs.size());
  std::vector<std::thread> consumers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string folder = flags_.dump_npy;
    if (!folder.empty() && outputs.size() > 1) absl::StrAppend(&folder, "/", outputs[i].name);
    consumers.emplace_back([this, &result = results[i], &outputs, i, folder = std::move(folder)] {
      result = Consume(outputs[i].name, folder);
      // One output's error ends all.
      if (!result.ok()) pipeline_->Cancel();
    });
  }
  for (std::thread& consumer : consumers) consumer.join();
  PENSTOCK_RETURN_IF_ERROR(Cause(results));
  pipeline_->Cancel();  // With --max_batches there is more, which nobody will take.
  return device_->Synchronize(compute_->ref());
}

absl::Status GraphRun::Consume(const std::string& output, const std::string& dump_folder) {
  std::optional<NpyDump> dump;
  if (!dump_folder.empty()) {
    PENSTOCK_RETURN_IF_ERROR(MakeFolder(dump_folder));
    dump.emplace(device_, dump_folder);
  }
  const StreamRef compute = compute_->ref();
  const absl::Duration work = absl::Milliseconds(flags_.compute_ms.value_or(0));
  NextOptions next;
  next.output = output;
  int64_t batches = 0;
  for (int64_t epoch = 0; epoch < flags_.epochs && batches < flags_.max_batches;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline_->Next(next));
    if (!batch) {
      ++epoch;
      continue;
    }
    ++batches;
    batch->WaitOn(compute);
    if (dump) PENSTOCK_RETURN_IF_ERROR(dump->Write(*batch, compute));
    if (work > absl::ZeroDuration()) PENSTOCK_RETURN_IF_ERROR(device_->Occupy(compute, work));
    PENSTOCK_RETURN_IF_ERROR(batch->status());
  }
  return absl::OkStatus();
}

void GraphRun::Stop() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kOver) return;
  stopped_ = true;
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

std::vector<OutputStatistics> GraphRun::Statistics() const {
  std::vector<OutputStatistics> statistics;
  if (state() == State::kStarting || pipeline_ == nullptr) return statistics;
  for (const OutputInfo& output : pipeline_->Info().outputs) {
    statistics.push_back({output.name, pipeline_->Stats(output.name)});
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
