// What the machinery costs: CPU time of all threads, what they spend on looking for work apart.
//
//   machinery_bench DIR DEVICE
//   machinery_bench "" DEVICE      elsewhere only
//
// kept: CIFAR-10 of DIR, kept on the device; shuffled, random crop, flip, normalise. elsewhere:
// images of 48 bytes whose rows nobody writes, shuffled, uploaded and delivered.
//
// Prints microseconds of CPU a batch, of 128 and of 1,024 samples: of the device's thread without
// its polling, and of the consumer without its waiting, with as many workers as a run has by
// itself; and of the workers, with one, which is then never idle. The difference of both sizes
// gives the cost of a sample, and what is left that of a batch. The best of kRuns each.
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
#include "penstock/tests/bench/cifar_graph.h"
#include "penstock/tests/bench/figures.h"
#include "penstock/tests/bench/idle_source.h"

namespace penstock::bench {
namespace {

constexpr int kRuns = 5, kFew = 128, kMany = 1024;
constexpr int64_t kSamples = 2'000'000, kWarmBatches = 100;

std::string IdleGraph(int batch) {
  return absl::StrCat("order { shuffle: FULL }\n", Node("bench.ReadIdle", "count: 1000000 side: 4"),
                      Node("Collate", absl::StrCat("batch_size: ", batch, " tail: DROP")),
                      Node("Upload", ""));
}

// CPU seconds a batch, each thread's search for work left out.
struct Parts {
  Best queue, consumer, workers;
  double all() const { return queue.seconds() + consumer.seconds() + workers.seconds(); }
};

// What has been used so far.
struct Used {
  Used(const Pipeline& pipeline, absl::Time start) {
    const RunStatistics statistics = pipeline.Stats();
    queue = statistics.queue_busy_seconds;
    consumer = absl::ToDoubleSeconds(absl::Now() - start) - statistics.next_wait_seconds;
    workers = CpuSeconds() - ThreadCpuSeconds() - queue - statistics.queue_polling_seconds;
  }
  double queue, consumer, workers;
};

absl::Status Run(const std::string& text, const std::shared_ptr<Device>& device, int batch,
                 int threads, Parts& parts) {
  Registry registry = Registry::Default();
  registry.Add<IdleSource>();
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(text, "bench", {}, registry));
  PipelineOptions options;
  options.devices = {device};
  options.registry = &registry;
  options.epochs = kForever;
  options.threads = threads;
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Pipeline> pipeline,
                            Pipeline::Create(graph, std::move(options)));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device->CreateStream());
  const absl::Time start = absl::Now();
  const int64_t timed = kSamples / batch;
  std::optional<Used> before;
  for (int64_t taken = 0; taken < kWarmBatches + timed;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> next, pipeline->Next());
    if (!next) continue;  // An epoch's end.
    next->WaitOn(stream->ref());
    if (++taken == kWarmBatches) before.emplace(*pipeline, start);
  }
  const Used after(*pipeline, start);
  const auto batches = static_cast<double>(timed);
  if (threads == 1) {
    parts.workers.Add((after.workers - before->workers) / batches);
  } else {
    parts.queue.Add((after.queue - before->queue) / batches);
    parts.consumer.Add((after.consumer - before->consumer) / batches);
  }
  return absl::OkStatus();
}

void Print(const std::string& name, int batch, const Parts& parts) {
  std::printf("%s, %d: device's thread %.2f us a batch, consumer %.2f, workers %.2f: %.2f\n",
              name.c_str(), batch, parts.queue.seconds() * 1e6, parts.consumer.seconds() * 1e6,
              parts.workers.seconds() * 1e6, parts.all() * 1e6);
}

// `text(batch)`: the graph.
template <class Text>
absl::Status Measure(const std::string& name, const std::shared_ptr<Device>& device, Text text) {
  Parts few, many;
  for (int run = 0; run < kRuns; ++run) {
    for (const int threads : {0, 1}) {
      PENSTOCK_RETURN_IF_ERROR(Run(text(kFew), device, kFew, threads, few));
      PENSTOCK_RETURN_IF_ERROR(Run(text(kMany), device, kMany, threads, many));
    }
  }
  Print(name, kFew, few);
  Print(name, kMany, many);
  const double sample = (many.all() - few.all()) / (kMany - kFew);
  std::printf("%s: %.1f ns a sample and %.2f us a batch\n", name.c_str(), sample * 1e9,
              (few.all() - sample * kFew) * 1e6);
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Main(const std::string& folder, const std::string& device_name) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenDevice(device_name));
  if (!folder.empty()) {
    PENSTOCK_RETURN_IF_ERROR(
        Measure("kept", device, [&](int batch) { return CifarGraph(folder, "DEVICE", batch); }));
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
