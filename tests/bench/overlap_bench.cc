// How well uploads hide behind the consumer's work where both take as long.
//
//   overlap_bench [DEVICE [BATCHES [ROUNDS]]]
//
// Batches of 38.5 MB, whose rows nobody writes, go through a Pipeline to DEVICE ("cuda:0"; "sim" is
// simulated at 1 GB/s), BATCHES of them (1000); the consumer's stream is busy for each as long as
// its copy takes alone. Prints a line a figure, of the best of ROUNDS (3) that alternate:
//
// overlap: the whole. The limit is the longer one of the copies alone and the work alone.
//
// one_stream: the same without Penstock: copy, work, and the host waits, batch after batch.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/memory/open_device.h"
#include "penstock/tests/bench/figures.h"
#include "penstock/tests/bench/idle_source.h"

namespace penstock::bench {
namespace {

constexpr int64_t kSide = 896, kRows = 16, kSeats = 12;  // Few rows: no work for the host.
constexpr size_t kBatch = static_cast<size_t>(kRows * kSide * kSide * 3);
constexpr double kSimGbPerS = 1;

struct Bench {
  std::shared_ptr<Device> device;
  int64_t batches = 1000;
  std::unique_ptr<Stream> stream;  // The consumer's.
  std::vector<Buffer> host, memory;
  absl::Duration work;  // On each batch.

  void Copy(int64_t i) const {
    const size_t b = static_cast<size_t>(i % kSeats);
    Check(device->CopyToDevice(memory[b].data(), host[b].data(), kBatch, stream->ref()));
  }
  void Work() const { Check(device->Occupy(stream->ref(), work)); }
  void Wait() const { Check(device->Synchronize(stream->ref())); }
};

double CopiesAlone(const Bench& bench) {
  return Seconds([&] {
    for (int64_t i = 0; i < bench.batches; ++i) bench.Copy(i);
    bench.Wait();
  });
}

double WorkAlone(const Bench& bench) {
  return Seconds([&] {
    for (int64_t i = 0; i < bench.batches; ++i) bench.Work();
    bench.Wait();
  });
}

double OneStream(const Bench& bench) {
  return Seconds([&] {
    for (int64_t i = 0; i < bench.batches; ++i) {
      bench.Copy(i);
      bench.Work();
      bench.Wait();
    }
  });
}

double ThroughPipeline(const Bench& bench, const Registry& registry, RunStatistics& statistics) {
  const auto graph = ParseGraph(
      absl::StrCat("batches_in_flight: ", kSeats,
                   " node { stage { [type.googleapis.com/penstock.bench.ReadIdle] { count: ",
                   bench.batches * kRows, " side: ", kSide,
                   " } } } node { stage { [type.googleapis.com/penstock.Collate] { batch_size: ",
                   kRows, " } } } node { stage { [type.googleapis.com/penstock.Upload] { } } }"),
      "overlap", {}, registry);
  Check(graph.status());
  PipelineOptions options;
  options.devices = {bench.device};
  options.registry = &registry;
  auto pipeline = Pipeline::Create(*graph, options);
  Check(pipeline.status());
  // From here on: what is uploaded before the first Next() is less than a batch.
  const double seconds = Seconds([&] {
    for (int64_t i = 0; i < bench.batches; ++i) {
      auto batch = (*pipeline)->Next();
      Check(batch.status());
      (*batch)->WaitOn(bench.stream->ref());
      bench.Work();
    }
    bench.Wait();
  });
  statistics = (*pipeline)->Stats();
  return seconds;
}

Bench Make(const std::string& device, int64_t batches) {
  Bench bench;
  auto opened = OpenDevice(device, {.gb_per_s = kSimGbPerS});
  Check(opened.status());
  bench.device = *std::move(opened);
  bench.batches = batches;
  bench.stream = bench.device->CreateStream().value();
  for (int64_t i = 0; i < kSeats; ++i) {
    bench.host.push_back(bench.device->AllocateHost(kBatch, HostMemory::kPinned).value());
    bench.memory.push_back(bench.device->AllocateDevice(kBatch).value());
  }
  bench.Work();  // Loads the kernel.
  (void)CopiesAlone(bench);
  bench.work = absl::Seconds(CopiesAlone(bench) / static_cast<double>(batches));
  return bench;
}

void Measure(const std::string& device, int64_t batches, int rounds) {
  const Bench bench = Make(device, batches);
  Registry registry = Registry::Default();
  registry.Add<IdleSource>();
  Best copies, work, whole, one_stream;
  for (int round = 0; round < rounds; ++round) {
    copies.Add(CopiesAlone(bench));
    work.Add(WorkAlone(bench));
    RunStatistics statistics;
    whole.Add(ThroughPipeline(bench, registry, statistics));
    std::printf("copies ran %.4f of the time, between two %.1f us (p95) and at most %.1f us\n",
                statistics.copy_utilisation, statistics.copy_gap_p95_us,
                statistics.copy_gap_longest_us);
    one_stream.Add(OneStream(bench));
  }
  const double limit = std::max(copies.seconds(), work.seconds());
  std::printf("copies alone %.4f s, work alone %.4f s\n", copies.seconds(), work.seconds());
  Print("overlap", whole.seconds(), "s", limit, whole.seconds() / limit, "<= 1.03");
  Print("one_stream", one_stream.seconds(), "s", limit, one_stream.seconds() / limit, "about 2");
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  penstock::bench::Measure(argc > 1 ? argv[1] : "cuda:0", argc > 2 ? std::atoll(argv[2]) : 1000,
                           argc > 3 ? std::atoi(argv[3]) : 3);
  return 0;
}
