// Uploads and page-locking, each beside the limit of the same machine in the same call. Needs CUDA.
//
//   link_bench [ORDINALS [ROUNDS]]
//
// Prints a line a figure, of the best of ROUNDS (5) that alternate. On the first of ORDINALS ("0"):
//
// upload, streams: batches of 38.5 MB, ready in page-locked memory, through the device's queue
// (pieces of 16 MiB, at most two queued) on 1, 2 and 4 streams. The limit is a plain loop of
// cudaMemcpyAsync over the same buffers on one stream.
//
// page_lock: the pinned slabs of a SeatPool of 4 GiB, and the whole pool, with as much device
// memory. The limit is cudaHostAlloc of the same bytes.
//
// And where there are several ("0,1"), upload, devices: the same through the queues of all at once.
// The limit is the first one's rate alone, times their number.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/scheduler/device_queue.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/tests/bench/figures.h"

namespace penstock::bench {
namespace {

constexpr size_t kBatch = size_t{256} * 224 * 224 * 3;
constexpr int kBuffers = 6, kUploads = 300, kMaxStreams = 4;
constexpr double kUploaded = 1e-9 * kBatch * kUploads;  // GB.
constexpr size_t kPool = size_t{4} << 30;
constexpr int kPoolSeats = 8, kPoolRounds = 3;

void Check(cudaError_t error, const char* call) { bench::Check(CudaStatus(error, call)); }

// A device with batches that are ready to go up.
struct Lane {
  std::shared_ptr<Device> device;
  std::shared_ptr<DeviceQueue> queue;
  std::vector<Buffer> host, memory;
  std::vector<std::unique_ptr<Stream>> streams;
};

Lane MakeLane(const std::shared_ptr<Device>& device) {
  Lane lane;
  lane.device = device;
  lane.queue = DeviceQueue::Create(device).value();
  for (int i = 0; i < kBuffers; ++i) {
    lane.host.push_back(device->AllocateHost(kBatch, HostMemory::kPinned).value());
    lane.memory.push_back(device->AllocateDevice(kBatch).value());
  }
  for (int i = 0; i < kMaxStreams; ++i) lane.streams.push_back(device->CreateStream().value());
  return lane;
}

double PlainLoop(const Lane& lane, cudaStream_t stream) {
  return Seconds([&] {
    for (int i = 0; i < kUploads; ++i) {
      Check(cudaMemcpyAsync(lane.memory[i % kBuffers].data(), lane.host[i % kBuffers].data(),
                            kBatch, cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync");
    }
    Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  });
}

double ThroughQueue(const Lane& lane, int streams) {
  std::latch done(kUploads);
  return Seconds([&] {
    for (int i = 0; i < kUploads; ++i) {
      UploadJob job;
      job.order = i;
      job.stream = lane.streams[i % streams]->ref();
      job.piece_bytes = kDefaultPieceBytes;
      job.copies = {{lane.memory[i % kBuffers].data(), lane.host[i % kBuffers].data(), kBatch}};
      job.before = job.after = [] { return absl::OkStatus(); };
      job.done = [&done](const absl::Status& status) {
        bench::Check(status);
        done.count_down();
      };
      lane.queue->Submit(std::move(job));
    }
    done.wait();
    for (const auto& stream : lane.streams) bench::Check(lane.device->Synchronize(stream->ref()));
  });
}

// On the current device.
void MeasureUploads(const Lane& lane, int rounds) {
  const std::vector<int> counts = {1, 2, kMaxStreams};
  cudaStream_t plain_stream = nullptr;
  Check(cudaStreamCreateWithFlags(&plain_stream, cudaStreamNonBlocking), "cudaStreamCreate");
  (void)PlainLoop(lane, plain_stream);  // Warms up.
  Best plain;
  std::vector<Best> queued(counts.size());
  for (int round = 0; round < rounds; ++round) {
    plain.Add(PlainLoop(lane, plain_stream));
    for (size_t c = 0; c < counts.size(); ++c) queued[c].Add(ThroughQueue(lane, counts[c]));
  }
  Check(cudaStreamDestroy(plain_stream), "cudaStreamDestroy");
  for (size_t c = 0; c < counts.size(); ++c) {
    Print(absl::StrCat("upload, streams: ", counts[c]), kUploaded / queued[c].seconds(), "GB/s",
          kUploaded / plain.seconds(), plain.seconds() / queued[c].seconds(), ">= 0.98");
  }
}

void MeasureAllDevices(const std::vector<Lane>& lanes, int rounds) {
  Best one, all;
  for (int round = 0; round < rounds; ++round) {
    one.Add(ThroughQueue(lanes[0], kMaxStreams));
    all.Add(Seconds([&] {
      std::vector<std::thread> threads;
      for (const Lane& lane : lanes) {
        threads.emplace_back([&lane] { (void)ThroughQueue(lane, kMaxStreams); });
      }
      for (std::thread& thread : threads) thread.join();
    }));
  }
  const auto count = static_cast<double>(lanes.size());
  Print(absl::StrCat("upload, devices: ", lanes.size()), count * kUploaded / all.seconds(), "GB/s",
        count * kUploaded / one.seconds(), one.seconds() / all.seconds(), ">= 0.95");
}

void MeasurePageLocking(const std::shared_ptr<Device>& device) {
  SlabLayout layout;
  layout.batch = 1;
  layout.row = kPool / kPoolSeats;
  Best pinned, ours, theirs;
  for (int round = 0; round < kPoolRounds; ++round) {
    std::shared_ptr<SeatPool> pool;
    ours.Add(Seconds(
        [&] { pool = SeatPool::Create(device, layout, kPoolSeats, HostMemory::kPinned).value(); }));
    pinned.Add(absl::ToDoubleSeconds(pool->host_time()));
    pool.reset();
    void* memory = nullptr;
    theirs.Add(Seconds(
        [&] { Check(cudaHostAlloc(&memory, kPool, cudaHostAllocDefault), "cudaHostAlloc"); }));
    Check(cudaFreeHost(memory), "cudaFreeHost");
  }
  Print("page_lock 4 GiB", pinned.seconds(), "s", theirs.seconds(),
        pinned.seconds() / theirs.seconds(), "<= 0.1");
  Print("page_lock, whole pool", ours.seconds(), "s", theirs.seconds(),
        ours.seconds() / theirs.seconds(), "about that");
}

void Measure(absl::string_view ordinals, int rounds) {
  std::vector<Lane> lanes;
  for (const absl::string_view text : absl::StrSplit(ordinals, ',')) {
    int ordinal = 0;
    PENSTOCK_CHECK(absl::SimpleAtoi(text, &ordinal), "usage: link_bench [ORDINALS [ROUNDS]]");
    if (lanes.empty()) Check(cudaSetDevice(ordinal), "cudaSetDevice");
    const auto device = CudaDevice::Create(ordinal);
    bench::Check(device.status());
    lanes.push_back(MakeLane(*device));
  }
  MeasureUploads(lanes[0], rounds);
  if (lanes.size() > 1) MeasureAllDevices(lanes, rounds);
  MeasurePageLocking(lanes[0].device);
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  penstock::bench::Measure(argc > 1 ? argv[1] : "0", argc > 2 ? std::atoi(argv[2]) : 5);
  return 0;
}
