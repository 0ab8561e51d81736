// How much a matrix product slows down while batches are made on the same device.
//
//   interference_bench GRAPH DATA LIBCUBLAS [RATE...]
//
// A loop of bf16 products of 8192 x 8192 matrices runs on a stream of the highest priority: alone,
// beside a Pipeline whose consumer asks for RATE samples a second (4000 and 20000), and alone
// again. LIBCUBLAS is the path of libcublas.so.13 or .12, which is not linked. Prints one line a
// rate.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "penstock/memory/open_device.h"
#include "penstock/tests/bench/feed.h"
#include "penstock/tests/bench/figures.h"

namespace penstock::bench {
namespace {

constexpr int kSide = 8192, kProducts = 700;
constexpr size_t kMatrix = size_t{2} * kSide * kSide;
// cuBLAS's numbers for what is used of it.
constexpr int kBf16 = 14, kCompute32F = 68, kDefaultAlgorithm = -1, kNoTranspose = 0;

void CheckCuda(cudaError_t error) {
  PENSTOCK_CHECK(error == cudaSuccess, cudaGetErrorString(error));
}

class Products {
 public:
  explicit Products(const char* library) {
    void* const cublas = dlopen(library, RTLD_NOW);
    PENSTOCK_CHECK(cublas != nullptr, dlerror());
    const auto create = Find<int (*)(void**)>(cublas, "cublasCreate_v2");
    const auto set_stream = Find<int (*)(void*, cudaStream_t)>(cublas, "cublasSetStream_v2");
    multiply_ = Find<Multiply>(cublas, "cublasGemmEx");
    int lowest = 0, highest = 0;
    CheckCuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    CheckCuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest));
    PENSTOCK_CHECK(create(&handle_) == 0 && set_stream(handle_, stream_) == 0, "cuBLAS failed");
    // Values like those of a network: power depends on them. 0x3F is the high byte of about 1.
    for (void** matrix : {&a_, &b_, &c_}) CheckCuda(cudaMalloc(matrix, kMatrix));
    std::vector<uint16_t> values(kMatrix / sizeof(uint16_t));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto hash = static_cast<uint32_t>(i * 2654435761U);
      values[i] = static_cast<uint16_t>(0x3C00 | (hash >> 25) | (hash & 0x8000));
    }
    for (void* matrix : {a_, b_}) {
      CheckCuda(cudaMemcpy(matrix, values.data(), kMatrix, cudaMemcpyHostToDevice));
    }
    CheckCuda(cudaEventCreate(&start_));
    CheckCuda(cudaEventCreate(&end_));
    Run(kProducts / 4);
  }

  // Milliseconds a product.
  double Run(int count = kProducts) {
    const float one = 1, zero = 0;
    CheckCuda(cudaEventRecord(start_, stream_));
    for (int i = 0; i < count; ++i) {
      PENSTOCK_CHECK(multiply_(handle_, kNoTranspose, kNoTranspose, kSide, kSide, kSide, &one, a_,
                               kBf16, kSide, b_, kBf16, kSide, &zero, c_, kBf16, kSide, kCompute32F,
                               kDefaultAlgorithm) == 0,
                     "cublasGemmEx failed");
    }
    CheckCuda(cudaEventRecord(end_, stream_));
    CheckCuda(cudaEventSynchronize(end_));
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, start_, end_));
    return milliseconds / count;
  }

 private:
  using Multiply = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int,
                           const void*, int, int, const void*, void*, int, int, int, int);

  template <class Function>
  static Function Find(void* library, const char* name) {
    void* const symbol = dlsym(library, name);
    PENSTOCK_CHECK(symbol != nullptr, name);
    return reinterpret_cast<Function>(symbol);
  }

  cudaStream_t stream_ = nullptr;
  void* handle_ = nullptr;
  Multiply multiply_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

void Beside(Products& products, const FeedOptions& options) {
  auto feed = Feed::Create(options);
  Check(feed.status());
  Check((*feed)->Measure(absl::Seconds(1)).status());  // Until all is warm.
  const double before = products.Run();
  std::atomic<bool> stop = false;
  FeedFigures figures;
  std::thread consumer([&] {
    auto measured = (*feed)->Measure(absl::InfiniteDuration(), &stop);
    Check(measured.status());
    figures = *measured;
  });
  const double beside = products.Run();
  const double again = products.Run();
  stop = true;
  consumer.join();
  feed->reset();
  const double after = products.Run();
  const double alone = (before + after) / 2, with = (beside + again) / 2;
  std::printf(
      "%.0f samples/s asked, %.0f got with %.3f cores; a batch every %.2f ms (p95 %.2f); a product "
      "%.4f ms alone (%.4f before, %.4f after), %.4f and %.4f beside it: %.2f %% slower\n",
      options.rate, static_cast<double>(figures.samples) / figures.seconds,
      figures.cpu_seconds / figures.seconds, figures.p50_ms, figures.p95_ms, alone, before, after,
      beside, again, 100 * (with / alone - 1));
  std::fflush(stdout);
}

void Measure(int argc, char** argv) {
  PENSTOCK_CHECK(argc >= 4, "usage: interference_bench GRAPH DATA LIBCUBLAS [RATE...]");
  auto device = OpenDevice("cuda:0");
  Check(device.status());
  Products products(argv[3]);
  std::vector<double> rates = {4000, 20000};
  if (argc > 4) rates.clear();
  for (int i = 4; i < argc; ++i) rates.push_back(std::atof(argv[i]));
  for (const double rate : rates) {
    Beside(products, {.graph = argv[1], .data = argv[2], .device = *device, .rate = rate});
  }
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  penstock::bench::Measure(argc, argv);
  return 0;
}
