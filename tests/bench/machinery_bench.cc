// What the machinery costs: CPU time of all threads, what they spend on looking for work apart.
//
//   machinery_bench DIR DEVICE
//   machinery_bench "" DEVICE      elsewhere only
//
// kept: CIFAR-10 of DIR, kept on the device; shuffled, random crop, flip, normalise. elsewhere:
// images of 48 bytes whose rows nobody writes, shuffled, uploaded and delivered. Batches of 128 and
// of 1,024 give the cost of a batch and that of a sample. One worker thread, which is then never
// idle. Of the device's thread its polling is left out, and of the consumer the time in which it
// waits for a batch. The best of kRuns each.
#include <time.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"
#include "penstock/tests/bench/figures.h"
#include "penstock/tests/bench/idle_source.h"

namespace penstock::bench {
namespace {

constexpr int kRuns = 5, kFew = 128, kMany = 1024;
constexpr int64_t kSamples = 2'000'000, kWarmBatches = 100;

std::string Node(const std::string& stage, const std::string& options) {
  return absl::StrCat("node { stage { [type.googleapis.com/penstock.", stage, "] { ", options,
                      " } } }\n");
}

std::string Collated(const std::string& source, int batch, const std::string& behind) {
  return absl::StrCat("order { shuffle: FULL }\n", source,
                      Node("Collate", absl::StrCat("batch_size: ", batch, " tail: DROP")),
                      Node("Upload", ""), behind);
}

std::string KeptGraph(const std::string& folder, int batch) {
  return Collated(
      Node("ReadCifar10", absl::StrCat("root: '", folder, "'")) +
          Node("Cache", "place: DEVICE bytes: 1073741824") +
          Node("RandomCrop", "height: 32 width: 32 padding: 4") + Node("RandomHorizontalFlip", ""),
      batch,
      Node("Normalize",
           "mean: [0.4914, 0.4822, 0.4465] std: [0.2470, 0.2435, 0.2616] dtype: FLOAT16"));
}

std::string IdleGraph(int batch) {
  return Collated(Node("bench.ReadIdle", "count: 1000000 side: 4"), batch, "");
}

double ThreadCpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// CPU seconds so far, but for what a thread spends on looking for work.
double WorkSeconds(const Pipeline& pipeline, absl::Time start) {
  const RunStatistics statistics = pipeline.Stats();
  const double consumer = absl::ToDoubleSeconds(absl::Now() - start) - statistics.next_wait_seconds;
  return CpuSeconds() - ThreadCpuSeconds() - statistics.queue_polling_seconds + consumer;
}

// CPU seconds a batch, of kSamples samples.
absl::StatusOr<double> SecondsABatch(const std::string& text, const std::shared_ptr<Device>& device,
                                     int batch) {
  Registry registry = Registry::Default();
  registry.Add<IdleSource>();
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(text, "bench", {}, registry));
  PipelineOptions options;
  options.devices = {device};
  options.registry = &registry;
  options.epochs = kForever;
  options.threads = 1;
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Pipeline> pipeline,
                            Pipeline::Create(graph, std::move(options)));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device->CreateStream());
  const absl::Time start = absl::Now();
  const int64_t timed = kSamples / batch;
  double before = 0;
  for (int64_t taken = 0; taken < kWarmBatches + timed;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> next, pipeline->Next());
    if (!next) continue;  // An epoch's end.
    next->WaitOn(stream->ref());
    if (++taken == kWarmBatches) before = WorkSeconds(*pipeline, start);
  }
  return (WorkSeconds(*pipeline, start) - before) / static_cast<double>(timed);
}

// `text(batch)`: the graph.
template <class Text>
absl::Status Measure(const std::string& name, const std::shared_ptr<Device>& device, Text text) {
  Best few, many;
  for (int run = 0; run < kRuns; ++run) {
    PENSTOCK_ASSIGN_OR_RETURN(double seconds, SecondsABatch(text(kFew), device, kFew));
    few.Add(seconds);
    PENSTOCK_ASSIGN_OR_RETURN(seconds, SecondsABatch(text(kMany), device, kMany));
    many.Add(seconds);
  }
  const double sample = (many.seconds() - few.seconds()) / (kMany - kFew);
  std::printf(
      "%s: %.2f us of CPU a batch of %d, %.2f us a batch of %d: %.1f ns a sample and %.2f us a "
      "batch\n",
      name.c_str(), few.seconds() * 1e6, kFew, many.seconds() * 1e6, kMany, sample * 1e9,
      (few.seconds() - sample * kFew) * 1e6);
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Main(const std::string& folder, const std::string& device_name) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenDevice(device_name));
  if (!folder.empty()) {
    PENSTOCK_RETURN_IF_ERROR(
        Measure("kept", device, [&](int batch) { return KeptGraph(folder, batch); }));
  }
  return Measure("elsewhere", device, [](int batch) { return IdleGraph(batch); });
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  const absl::Status status = argc == 3
                                  ? penstock::bench::Main(argv[1], argv[2])
                                  : absl::InvalidArgumentError("usage: machinery_bench DIR DEVICE");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
