// Epochs of kept samples, delivered batch by batch through Next(), and what the machinery costs.
//
//   resident_bench cifar DIR DEVICE            CIFAR-10 in device and in pinned memory
//   resident_bench cifar DIR DEVICE PLACE BATCH THREADS      one of these cases
//   resident_bench images FILE.npy DEVICE      uint8 [N, H, W, 3], pinned, normalised to float16
//   NCHW resident_bench rows FILE.npy DEVICE        rows as they are, pinned (where they are, on
//   tmpfs)
//
// A consumer waits for each batch on a stream of its own and releases it. Prints one line a figure.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tests/bench/cifar_graph.h"
#include "penstock/tests/bench/figures.h"

namespace penstock {
namespace {

constexpr int kWarmEpochs = 3, kCifarEpochs = 300;

// What `epochs` epochs took once the run was steady.
struct Figures {
  double seconds = 0, cpu = 0;
  double queue_busy = 0, queue_polling = 0, rows_busy = 0;
  double launch_p50_us = 0;  // Of one launch on the device, with those that waited before it.
  int64_t batches = 0, samples = 0, epochs = 0;
  int64_t allocations = 0;
  int threads = 0;
};

const StageStatistics& StageAt(const RunStatistics& statistics, const std::string& place) {
  static const StageStatistics kNone;
  for (const StageStatistics& stage : statistics.stages) {
    if (stage.place == place) return stage;
  }
  return kNone;
}

absl::StatusOr<Figures> Run(const std::string& text, const std::string& device_name, int epochs,
                            int threads) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenDevice(device_name));
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(text, "bench"));
  PipelineOptions options;
  options.devices = {device};
  options.epochs = kForever;
  options.threads = threads;
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Pipeline> pipeline,
                            Pipeline::Create(graph, std::move(options)));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device->CreateStream());
  Figures figures;
  RunStatistics before;
  absl::Time start;
  double cpu = 0;
  for (int epoch = 0; epoch < kWarmEpochs + epochs;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline->Next());
    if (!batch) {
      if (++epoch != kWarmEpochs) continue;
      PENSTOCK_RETURN_IF_ERROR(device->Synchronize(stream->ref()));
      before = pipeline->Stats();
      figures.allocations = device->driver_allocations();
      start = absl::Now();
      cpu = bench::CpuSeconds();
      continue;
    }
    batch->WaitOn(stream->ref());
    if (epoch < kWarmEpochs) continue;
    ++figures.batches;
    figures.samples += batch->size();
  }
  PENSTOCK_RETURN_IF_ERROR(device->Synchronize(stream->ref()));
  figures.seconds = absl::ToDoubleSeconds(absl::Now() - start);
  figures.cpu = bench::CpuSeconds() - cpu;
  const RunStatistics after = pipeline->Stats();
  figures.queue_busy = after.queue_busy_seconds - before.queue_busy_seconds;
  figures.queue_polling = after.queue_polling_seconds - before.queue_polling_seconds;
  figures.rows_busy = StageAt(after, "host").busy_s - StageAt(before, "host").busy_s;
  figures.launch_p50_us = StageAt(after, "device").p50_us;
  figures.allocations = device->driver_allocations() - figures.allocations;
  figures.epochs = epochs;
  figures.threads = pipeline->Info().threads;
  return figures;
}

std::string ArrayGraph(const std::string& file, int batch, bool normalise) {
  return absl::StrCat(
      "order { shuffle: FULL }\n", bench::Node("ReadArray", absl::StrCat("path: '", file, "'")),
      bench::Node("Cache", "place: PINNED bytes: 1099511627776"),
      bench::Node("Collate", absl::StrCat("batch_size: ", batch, " tail: DROP")),
      bench::Node("Upload", ""),
      normalise ? bench::Node("Normalize",
                              "mean: [0.485, 0.456, 0.406] std: [0.229, 0.224, 0.225] dtype: "
                              "FLOAT16")
                : "");
}

void Print(const std::string& name, const Figures& f) {
  const auto batches = static_cast<double>(f.batches);
  const auto samples = static_cast<double>(f.samples);
  std::printf(
      "%s: %.3f ms an epoch, %.0f samples/s, %.2f us a batch; queue thread busy %.2f us a batch "
      "(polling %.2f), a launch %.1f us on the device, rows %.1f ns a sample, all CPU %.2f us a "
      "batch = %.2f cores, allocations %ld\n",
      name.c_str(), f.seconds / static_cast<double>(f.epochs) * 1e3, samples / f.seconds,
      f.seconds / batches * 1e6, f.queue_busy / batches * 1e6, f.queue_polling / batches * 1e6,
      f.launch_p50_us, f.rows_busy / samples * 1e9, f.cpu / batches * 1e6, f.cpu / f.seconds,
      f.allocations);
  std::fflush(stdout);
}

absl::Status CifarCase(const std::string& folder, const std::string& device,
                       const std::string& place, int batch, int threads) {
  PENSTOCK_ASSIGN_OR_RETURN(const Figures figures, Run(bench::CifarGraph(folder, place, batch),
                                                       device, kCifarEpochs, threads));
  Print(absl::StrCat("CIFAR ", place, " batch ", batch, " threads ", figures.threads), figures);
  return absl::OkStatus();
}

absl::Status Cifar(const std::string& folder, const std::string& device) {
  for (const char* place : {"DEVICE", "PINNED"}) {
    for (const int batch : {1024, 128}) {
      for (const int threads : {0, 4}) {
        PENSTOCK_RETURN_IF_ERROR(CifarCase(folder, device, place, batch, threads));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Array(const std::string& file, const std::string& device, bool normalise) {
  for (const int threads : {2, 0}) {
    PENSTOCK_ASSIGN_OR_RETURN(
        const Figures figures,
        Run(ArrayGraph(file, normalise ? 256 : 64, normalise), device, 4, threads));
    Print(absl::StrCat(normalise ? "images" : "rows", " threads ", figures.threads), figures);
  }
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (argc == 7 && what == "cifar") {
    return CifarCase(argv[2], argv[3], argv[4], std::atoi(argv[5]), std::atoi(argv[6]));
  }
  if (argc != 4) return absl::InvalidArgumentError("usage: resident_bench WHAT DATA DEVICE");
  if (what == "cifar") return Cifar(argv[2], argv[3]);
  if (what == "images" || what == "rows") return Array(argv[2], argv[3], what == "images");
  return absl::InvalidArgumentError(absl::StrCat("there is no '", what, "'"));
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  const absl::Status status = penstock::Main(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
