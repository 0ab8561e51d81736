// The JPEG decoder on the device alone, up to the planes of samples. Needs CUDA.
//
//   jpeg_bench FOLDERS|FILES... [BATCH [STREAMS]]
//   jpeg_bench check FOLDERS|FILES...
//
// Files lie in device memory, in batches of BATCH (256), each on a stream of its own: images/s of
// 1, 2, 4 and 8 streams, or of STREAMS, the best of three; and the microseconds of each step of a
// batch that has the device to itself. check: compares the planes of all files with libjpeg's, byte
// for byte; files that the decoder does not take are counted.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "penstock/memory/check.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_batch.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_call.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"
#include "penstock/tests/bench/figures.h"

namespace penstock::bench {
namespace {

constexpr int kBatch = 256;
constexpr int kRounds = 3, kTimed = 21;
constexpr double kSeconds = 1;  // Of a round.

struct File {
  std::string name;
  std::vector<std::byte> bytes;
  JpegDescriptor descriptor;
};

void AddFile(const std::filesystem::path& path, std::vector<File>& files, int& refused) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  File file{.name = path.string(), .bytes = {bytes, bytes + text.size()}, .descriptor = {}};
  if (!DescribeJpeg(file.bytes, file.descriptor)) {
    ++refused;
    return;
  }
  files.push_back(std::move(file));
}

std::vector<File> ReadFiles(const std::vector<std::string>& names) {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    if (!fs::is_directory(name)) {
      paths.emplace_back(name);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(name)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<File> files;
  int refused = 0;
  for (const fs::path& path : paths) AddFile(path, files, refused);
  std::printf("%zu files, and %d that the decoder does not take\n", files.size(), refused);
  return files;
}

JpegCall::Input InputOf(const File& file) {
  return {.file = file.bytes,
          .descriptor = file.descriptor,
          .region = Region::Whole({file.descriptor.height, file.descriptor.width})};
}

// The files in turn, from `first` on.
std::unique_ptr<JpegCall> MakeCall(const std::shared_ptr<CudaDevice>& device,
                                   const std::vector<File>& files, size_t first, int batch) {
  std::vector<JpegCall::Input> inputs;
  for (int i = 0; i < batch; ++i) inputs.push_back(InputOf(files[(first + i) % files.size()]));
  auto call = JpegCall::Create(device, inputs);
  Check(call.status());
  return *std::move(call);
}

// Microseconds of each step, the median of several calls.
void PrintSteps(CudaDevice& device, JpegCall& call) {
  cudaEvent_t events[kJpegSteps + 1];
  std::vector<float> times[kJpegSteps];
  const CudaScope scope = device.Enter();
  Check(scope.status());
  for (cudaEvent_t& event : events) Check(CudaStatus(cudaEventCreate(&event), "cudaEventCreate"));
  for (int i = 0; i < kTimed; ++i) {
    Check(call.Enqueue(events));
    Check(call.Synchronize());
    for (int step = 0; step < kJpegSteps; ++step) {
      float milliseconds = 0;
      Check(CudaStatus(cudaEventElapsedTime(&milliseconds, events[step], events[step + 1]),
                       "cudaEventElapsedTime"));
      times[step].push_back(milliseconds * 1000);
    }
  }
  float sum = 0;
  for (int step = 0; step < kJpegSteps; ++step) {
    std::nth_element(times[step].begin(), times[step].begin() + kTimed / 2, times[step].end());
    const float median = times[step][kTimed / 2];
    sum += median;
    std::printf("%-12s %8.1f us\n", kJpegStepNames[step], median);
  }
  std::printf("%-12s %8.1f us: %.0f images/s\n", "sum", sum, call.images().count * 1e6 / sum);
  for (cudaEvent_t event : events) cudaEventDestroy(event);
}

double Rate(std::vector<std::unique_ptr<JpegCall>>& calls, int streams) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    int64_t images = 0;
    const absl::Time start = absl::Now();
    while (absl::Now() - start < absl::Seconds(kSeconds)) {
      // Each stream is waited for only when its turn comes again.
      for (int s = 0; s < streams; ++s) {
        Check(calls[s]->Synchronize());
        Check(calls[s]->Enqueue());
        images += calls[s]->images().count;
      }
    }
    for (int s = 0; s < streams; ++s) Check(calls[s]->Synchronize());
    best = std::max(best, static_cast<double>(images) / absl::ToDoubleSeconds(absl::Now() - start));
  }
  return best;
}

void Measure(const std::shared_ptr<CudaDevice>& device, const std::vector<File>& files, int batch,
             const std::vector<int>& streams) {
  std::vector<std::unique_ptr<JpegCall>> calls;
  const int most = *std::max_element(streams.begin(), streams.end());
  for (int s = 0; s < most; ++s) {
    calls.push_back(MakeCall(device, files, size_t{1} * s * batch, batch));
  }
  PrintSteps(*device, *calls[0]);
  for (const int count : streams) {
    std::printf("batch %d, %d streams: %.0f images/s\n", batch, count, Rate(calls, count));
    std::fflush(stdout);
  }
}

int CheckPlanes(const std::shared_ptr<CudaDevice>& device, const std::vector<File>& files) {
  int exact = 0, different = 0, damaged = 0;
  for (size_t first = 0; first < files.size(); first += kBatch) {
    const int count = static_cast<int>(std::min<size_t>(kBatch, files.size() - first));
    const auto call = MakeCall(device, files, first, count);
    Check(call->Enqueue());
    Check(call->Fetch());
    for (int i = 0; i < count; ++i) {
      const File& file = files[first + i];
      if (call->status()[i] != 0) {
        std::printf("%s: damaged from row %d of MCUs on\n", file.name.c_str(),
                    call->status()[i] - 1);
        ++damaged;
        continue;
      }
      const std::string difference =
          ComparePlanes(call->planes()[i], InputOf(file).region, ReadRawPlanes(file.bytes),
                        call->memory(), call->memory_address());
      ++(difference.empty() ? exact : different);
      if (!difference.empty()) std::printf("%s: %s\n", file.name.c_str(), difference.c_str());
    }
  }
  std::printf("exact %d, different %d, damaged %d\n", exact, different, damaged);
  return different == 0 ? 0 : 1;
}

int Run(std::vector<std::string> arguments) {
  std::vector<int> numbers;
  int number = 0;
  while (!arguments.empty() && absl::SimpleAtoi(arguments.back(), &number)) {
    numbers.insert(numbers.begin(), number);
    arguments.pop_back();
  }
  const bool checks = !arguments.empty() && arguments.front() == "check";
  if (checks) arguments.erase(arguments.begin());
  if (arguments.empty() || numbers.size() > 2) {
    std::fputs("usage: jpeg_bench [check] FOLDERS|FILES... [BATCH [STREAMS]]\n", stderr);
    return 2;
  }
  auto device = CudaDevice::Create(0);
  Check(device.status());
  const std::vector<File> files = ReadFiles(arguments);
  PENSTOCK_CHECK(!files.empty(), "no file that the decoder takes");
  if (checks) return CheckPlanes(*device, files);
  const int batch = numbers.empty() ? kBatch : numbers[0];
  Measure(*device, files, batch,
          numbers.size() < 2 ? std::vector<int>{1, 2, 4, 8} : std::vector<int>{numbers[1]});
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  return penstock::bench::Run(std::vector<std::string>(argv + 1, argv + argc));
}
