// Shuffled rows of a float32 .npy file through page-locked memory to a device, beside the limit of
// the same machine in the same call.
//
//   array_bench FILE.npy DEVICE GIB [BATCH [SEATS [THREADS [RUNS]]]]
//
// Makes the file where it has not that size: GIB GiB in rows of 1 MiB, each with its number in
// front. BATCH rows a batch (64), SEATS batches of page-locked memory (4), THREADS that read (all
// processors), RUNS of each in turn (3). The limit: as many threads read the same rows in a random
// order into as much page-locked memory with pread, while a copy loop sends on
//   paced   each byte once, as Penstock does,
//   free    without end, at the link's own rate.
// The readers wait for no copy. Where they are faster than the link, its rate is the limit: it is
// measured alone.
// Meanwhile a thread watches the program's own memory (RssAnon: without shared memory and files).
// Prints one line a run and ends with the medians and their ratios.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr int64_t kRow = int64_t{1} << 20, kHeader = 128, kPiece = int64_t{16} << 20;
constexpr size_t kCopiesInFlight = 2;

struct Settings {
  std::string file, device;
  int64_t rows = 0, batch = 64, seats = 4, threads = 1, runs = 3;
  size_t pinned() const { return static_cast<size_t>(batch * seats * kRow); }
};

// Runs `body(thread)` on that many threads, to its end.
template <class Body>
void OnThreads(int64_t threads, Body body) {
  std::vector<std::thread> all;
  for (int64_t i = 0; i < threads; ++i) all.emplace_back(body, i);
  for (std::thread& thread : all) thread.join();
}

std::string Header(int64_t rows) {
  std::string text = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ",
                                  kRow / 4, "), }");
  text.append(static_cast<size_t>(kHeader - 11) - text.size(), ' ');
  text += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text;
}

absl::Status MakeFile(const Settings& settings) {
  const int fd = open(settings.file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, settings.file);
  const int64_t bytes = kHeader + settings.rows * kRow;
  if (lseek(fd, 0, SEEK_END) == bytes) return close(fd), absl::OkStatus();
  const std::string header = Header(settings.rows);
  std::atomic<bool> good = ftruncate(fd, 0) == 0 && ftruncate(fd, bytes) == 0 &&
                           pwrite(fd, header.data(), header.size(), 0) == kHeader;
  OnThreads(settings.threads, [&](int64_t thread) {
    std::mt19937_64 draw(static_cast<uint64_t>(thread));
    std::vector<uint64_t> row(kRow / sizeof(uint64_t));
    std::generate(row.begin(), row.end(), draw);
    for (int64_t i = thread; i < settings.rows && good; i += settings.threads) {
      row[0] = static_cast<uint64_t>(i);
      if (pwrite(fd, row.data(), kRow, kHeader + i * kRow) != kRow) good = false;
    }
  });
  const absl::Status status = good ? absl::OkStatus() : absl::ErrnoToStatus(errno, settings.file);
  close(fd);
  return status;
}

// The most RssAnon that this process has had while it lives.
class MemoryWatch {
 public:
  MemoryWatch() : thread_([this] { Run(); }) {}
  ~MemoryWatch() { Stop(); }
  double Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    return static_cast<double>(most_kib_) / (1 << 20);
  }

 private:
  void Run() {
    do {
      std::ifstream status("/proc/self/status");
      for (std::string word; status >> word;) {
        int64_t kib = 0;
        if (word == "RssAnon:" && status >> kib) most_kib_ = std::max(most_kib_, kib);
      }
      absl::SleepFor(absl::Milliseconds(5));
    } while (!stopping_);
  }
  std::atomic<bool> stopping_{false};
  int64_t most_kib_ = 0;
  std::thread thread_;
};

// The rows of a delivered batch carry their numbers.
absl::Status CheckRows(Device& device, const DeviceBatch& batch, StreamRef stream) {
  const TensorView& data = batch.tensor("data");
  for (int64_t row = 0; row < batch.size(); ++row) {
    int64_t number = -1;
    PENSTOCK_RETURN_IF_ERROR(device.CopyToHost(
        reinterpret_cast<std::byte*>(&number),
        static_cast<const std::byte*>(data.data) + row * kRow, sizeof(number), stream));
    PENSTOCK_RETURN_IF_ERROR(device.Synchronize(stream));
    if (number != batch.info().ids[row]) {
      return absl::DataLossError(
          absl::StrCat("row ", batch.info().ids[row], " came with the bytes of ", number));
    }
  }
  return absl::OkStatus();
}

// GB/s of one epoch between two others, so that as much is read ahead at its end as at its start.
absl::StatusOr<double> Stream(const Settings& settings, const std::shared_ptr<Device>& device) {
  PENSTOCK_ASSIGN_OR_RETURN(
      const Graph graph,
      ParseGraph(
          absl::StrCat("order { shuffle: FULL } batches_in_flight: ", settings.seats,
                       " node { stage { [type.googleapis.com/penstock.ReadArray] { path: '",
                       settings.file,
                       "' } } } node { stage { [type.googleapis.com/penstock.Collate] { "
                       "batch_size: ",
                       settings.batch,
                       " } } } node { stage { [type.googleapis.com/penstock.Upload] { } } }"),
          "array_bench"));
  PipelineOptions options;
  options.devices = {device};
  options.epochs = 3;
  options.io_threads = static_cast<int>(settings.threads);
  PENSTOCK_ASSIGN_OR_RETURN(const auto pipeline, Pipeline::Create(graph, std::move(options)));
  PENSTOCK_ASSIGN_OR_RETURN(const auto stream, device->CreateStream());
  absl::Time start;
  for (int epoch = 0; epoch < 2;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline->Next());
    if (!batch) {
      if (++epoch == 1) start = absl::Now();
      continue;
    }
    batch->WaitOn(stream->ref());
    if (epoch == 0) PENSTOCK_RETURN_IF_ERROR(CheckRows(*device, *batch, stream->ref()));
  }
  PENSTOCK_RETURN_IF_ERROR(device->Synchronize(stream->ref()));
  return static_cast<double>(settings.rows * kRow) * 1e-9 /
         absl::ToDoubleSeconds(absl::Now() - start);
}

// Copies pieces of `from` round and round until `stop`: those that were read, or without waiting if
// `read` is null. Gives the bytes.
absl::StatusOr<int64_t> CopyLoop(Device& device, const Buffer& from, const Buffer& to,
                                 const std::atomic<int64_t>* read, const std::atomic<bool>& stop) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto stream, device.CreateStream());
  std::deque<std::shared_ptr<Event>> in_flight;
  int64_t copied = 0;
  const auto bytes = static_cast<int64_t>(from.size());
  while (!stop) {
    if (read != nullptr && copied + kPiece > *read) {
      std::this_thread::yield();
      continue;
    }
    const int64_t at = copied % bytes, piece = std::min(kPiece, bytes - at);
    PENSTOCK_RETURN_IF_ERROR(device.CopyToDevice(to.data() + at, from.data() + at,
                                                 static_cast<size_t>(piece), stream->ref()));
    PENSTOCK_ASSIGN_OR_RETURN(in_flight.emplace_back(), device.AcquireEvent());
    PENSTOCK_RETURN_IF_ERROR(in_flight.back()->Record(stream->ref()));
    if (in_flight.size() > kCopiesInFlight) {
      PENSTOCK_RETURN_IF_ERROR(in_flight.front()->Wait());
      in_flight.pop_front();
    }
    copied += piece;
  }
  PENSTOCK_RETURN_IF_ERROR(device.Synchronize(stream->ref()));
  return copied;
}

// GB/s of the copy loop alone.
absl::StatusOr<double> Link(const Settings& settings, const std::shared_ptr<Device>& device) {
  PENSTOCK_ASSIGN_OR_RETURN(const Buffer host,
                            device->AllocateHost(settings.pinned(), HostMemory::kPinned));
  PENSTOCK_ASSIGN_OR_RETURN(const Buffer slab, device->AllocateDevice(settings.pinned()));
  std::atomic<bool> stop{false};
  std::thread timer([&stop] {
    absl::SleepFor(absl::Milliseconds(200));
    stop = true;
  });
  const absl::Time start = absl::Now();
  const absl::StatusOr<int64_t> copied = CopyLoop(*device, host, slab, nullptr, stop);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  timer.join();
  PENSTOCK_RETURN_IF_ERROR(copied.status());
  return static_cast<double>(*copied) * 1e-9 / seconds;
}

// GB/s of reads alone into page-locked memory, each thread into its share of it.
absl::StatusOr<double> Limit(const Settings& settings, const std::shared_ptr<Device>& device,
                             bool paced) {
  PENSTOCK_ASSIGN_OR_RETURN(const Buffer host,
                            device->AllocateHost(settings.pinned(), HostMemory::kPinned));
  PENSTOCK_ASSIGN_OR_RETURN(const Buffer slab, device->AllocateDevice(settings.pinned()));
  std::vector<int64_t> order(static_cast<size_t>(settings.rows));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(order.size()));
  const int fd = open(settings.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, settings.file);
  std::atomic<int64_t> next{0}, read{0};
  std::atomic<bool> stop{false}, good{true};
  absl::Status copy_status;
  std::thread copier(
      [&] { copy_status = CopyLoop(*device, host, slab, paced ? &read : nullptr, stop).status(); });
  const int64_t slots = settings.batch * settings.seats;
  const absl::Time start = absl::Now();
  OnThreads(settings.threads, [&](int64_t) {
    for (int64_t i; (i = next++) < settings.rows && good;) {
      std::byte* const to = host.data() + i % slots * kRow;
      if (pread(fd, to, kRow, kHeader + order[static_cast<size_t>(i)] * kRow) != kRow) good = false;
      read += kRow;
    }
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  stop = true;
  copier.join();
  close(fd);
  PENSTOCK_RETURN_IF_ERROR(copy_status);
  if (!good) return absl::DataLossError(absl::StrCat(settings.file, ": a read was short"));
  return static_cast<double>(settings.rows * kRow) * 1e-9 / seconds;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::Status Measure(const Settings& settings) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenDevice(settings.device));
  PENSTOCK_RETURN_IF_ERROR(MakeFile(settings));
  std::vector<double> ours, paced, unpaced, link;
  double memory = 0;
  for (int64_t run = 0; run < settings.runs; ++run) {
    PENSTOCK_ASSIGN_OR_RETURN(paced.emplace_back(), Limit(settings, device, true));
    PENSTOCK_ASSIGN_OR_RETURN(unpaced.emplace_back(), Limit(settings, device, false));
    PENSTOCK_ASSIGN_OR_RETURN(link.emplace_back(), Link(settings, device));
    MemoryWatch watch;
    PENSTOCK_ASSIGN_OR_RETURN(ours.emplace_back(), Stream(settings, device));
    memory = std::max(memory, watch.Stop());
    std::printf(
        "run %ld: Penstock %.2f GB/s; pread beside a copy loop: paced %.2f, free %.2f; link %.2f\n",
        run, ours.back(), paced.back(), unpaced.back(), link.back());
    std::fflush(stdout);
  }
  std::printf(
      "%.1f GiB in rows of 1 MiB, %ld threads, %.0f MiB page-locked: Penstock %.2f GB/s = "
      "%.3f of paced, %.3f of free, %.3f of the link; own memory at most %.3f GiB\n",
      static_cast<double>(settings.rows) / 1024, settings.threads,
      static_cast<double>(settings.pinned()) / (1 << 20), Median(ours),
      Median(ours) / Median(paced), Median(ours) / Median(unpaced), Median(ours) / Median(link),
      memory);
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  Settings settings;
  settings.threads = std::thread::hardware_concurrency();
  double gib = 0;
  bool good = argc >= 4 && argc <= 8 && absl::SimpleAtod(argv[3], &gib) && gib > 0;
  int64_t* const numbers[] = {&settings.batch, &settings.seats, &settings.threads, &settings.runs};
  for (int i = 4; good && i < argc; ++i) {
    good = absl::SimpleAtoi(argv[i], numbers[i - 4]) && *numbers[i - 4] > 0;
  }
  if (!good) {
    return absl::InvalidArgumentError(
        "usage: array_bench FILE.npy DEVICE GIB [BATCH [SEATS [THREADS [RUNS]]]]");
  }
  settings.file = argv[1];
  settings.device = argv[2];
  settings.rows = static_cast<int64_t>(gib * 1024);
  return Measure(settings);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  const absl::Status status = penstock::Main(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "array_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
