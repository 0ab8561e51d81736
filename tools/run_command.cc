#include "penstock/tools/run_command.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tools/files.h"
#include "penstock/tools/graph_run.h"
#include "penstock/tools/messages.h"
#include "penstock/tools/progress.h"
#include "penstock/tools/signals.h"
#include "penstock/tools/stats_json.h"
#include "penstock/tools/summary.h"

namespace penstock {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(250);
// For the batch that is being written when a signal comes.
constexpr absl::Duration kStopPatience = absl::Milliseconds(1200);

// What can be found out before anything is started.
absl::Status CheckFlags(const RunFlags& flags) {
  if (flags.rank >= flags.world) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rank: ", flags.rank, " is not below --world, which is ", flags.world));
  }
  for (const absl::string_view device : absl::StrSplit(flags.graph.device, ',')) {
    if (flags.sim_gb_per_s && device != "sim") {
      return absl::InvalidArgumentError("--sim_gb_per_s: needs --device=sim");
    }
  }
  if (!flags.stats_json.empty()) PENSTOCK_RETURN_IF_ERROR(CheckWritable(flags.stats_json));
  if (!flags.dump_npy.empty()) PENSTOCK_RETURN_IF_ERROR(MakeFolder(flags.dump_npy));
  return absl::OkStatus();
}

std::vector<RunStatistics> Plain(const std::vector<OutputStatistics>& outputs) {
  std::vector<RunStatistics> plain;
  for (const OutputStatistics& output : outputs) plain.push_back(output.statistics);
  return plain;
}

void AnnounceStart(const Pipeline& pipeline) {
  for (const OutputInfo& output : pipeline.Info().outputs) {
    Print(StartText(pipeline.Stats(output.name), pipeline.Info(), output));
  }
}

// Draws the line until the run is over.
void Attend(GraphRun& run, Progress& progress, const std::atomic<int>& signal) {
  while (!run.WaitFor(kRedraw)) {
    if (signal != 0) {
      run.WaitFor(kStopPatience);
      return;
    }
    progress.Draw(Plain(run.Statistics()), run.TotalBatches());
  }
}

// Of a run that was stopped before it had an output, `outputs` is empty.
absl::Status WriteStatistics(const RunFlags& flags, const GraphRun& run,
                             std::vector<OutputStatistics> outputs) {
  if (flags.stats_json.empty()) return absl::OkStatus();
  if (outputs.empty()) outputs.push_back({"", run.Asked()});
  return WriteFile(flags.stats_json, {StatsJson(outputs)});
}

// Writes and prints what there is, and returns the code to exit with.
int Conclude(const RunFlags& flags, const GraphRun& run, bool stopped, Progress& progress) {
  if (run.failed_to_start()) return Report(run.status());
  // Of a run that was stopped, the device may still be busy with what nobody waits for.
  const std::vector<OutputStatistics> outputs = stopped ? run.Statistics() : run.FinalStatistics();
  progress.Finish(Plain(outputs), run.TotalBatches());
  const absl::Status written = WriteStatistics(flags, run, outputs);
  if (!run.status().ok()) {
    ReportWrongInput(run.status());
    return kRunFailed;  // Whatever the kind of error: the run was under way.
  }
  for (const OutputStatistics& output : outputs) {
    Print(Summary(output.statistics, output.devices));
  }
  if (written.ok()) return kGood;
  ReportWrongInput(written);
  return kRunFailed;
}

}  // namespace

int RunCommand(const RunFlags& flags) {
  absl::StatusOr<Graph> graph = LoadGraph(flags.graph);
  if (!graph.ok()) return ReportWrongInput(graph.status());
  if (const absl::Status status = CheckFlags(flags); !status.ok()) return ReportWrongInput(status);
  if (flags.seed_is_random) {
    Print(absl::StrCat("drew a seed; --seed=", *flags.seed, " repeats this run\n"));
  }
  Progress progress(flags.progress);
  GraphRun run(*std::move(graph), flags,
               [&progress](absl::string_view line) { progress.Message(line); });
  std::atomic<int> signal = 0;
  const SignalWatch watch([&run, &signal](int first) {
    signal = first;
    run.Stop();
  });
  run.Start(AnnounceStart);
  Attend(run, progress, signal);
  if (signal == 0) return Conclude(flags, run, /*stopped=*/false, progress);
  progress.Message(absl::StrCat("stopped by ", signal == SIGINT ? "SIGINT" : "SIGTERM"));
  Conclude(flags, run, /*stopped=*/true, progress);
  // What is on the device may take any time, and is of no use any more.
  _exit(128 + signal);
}

}  // namespace penstock
