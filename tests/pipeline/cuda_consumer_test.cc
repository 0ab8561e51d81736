// What a consumer on a GPU may do while a pipeline runs: default streams, graph captures, long
// kernels, faults. Needs a CUDA device, and skips itself where there is none.
#include <atomic>
#include <cstdlib>
#include <future>
#include <iostream>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "penstock/tests/pipeline/cuda_fixture.h"
#include "penstock/tests/testing/cuda_kernels.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

class CudaConsumerTest : public CudaPipelineTest {
 protected:
  void SetUp() override {
    CudaPipelineTest::SetUp();
    if (IsSkipped()) return;
    // Kernels are loaded at their first launch, which may take long.
    const ConsumerStream stream;
    const auto device = OpenDevice("cuda:0").value();
    ASSERT_EQ(device->Occupy(StreamRef(stream), absl::ZeroDuration()), absl::OkStatus());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  // Longer than all else in a test may take.
  static constexpr absl::Duration kLong = absl::Seconds(2);
};

TEST_F(CudaConsumerTest, GetsTheHostsBytes) {
  options_.epochs = 5;
  const RunResult host = OnTheHost();
  const auto pipeline = Make({0});
  const ConsumerStream stream;
  for (int i = 0; i < 5 * (kBatches + 1); ++i) {
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) continue;
    (*batch)->WaitOn(StreamRef(stream));
    ExpectSame(**batch, host, stream);
  }
  EXPECT_EQ(pipeline->Stats().batches, 5 * kBatches);
  EXPECT_EQ(pipeline->Stats().driver_allocations_after_warmup, 0);
}

// F03. Two threads name the per-thread default stream, which is another one in each: a long kernel
// of the one holds back no seat of the other.
TEST_F(CudaConsumerTest, PerThreadStreamsAreToldApart) {
  options_.epochs = 5;
  const RunResult host = OnTheHost();
  const auto pipeline = Make({0});
  const StreamRef stream = StreamRef::PerThreadDefault();
  const std::shared_ptr<Event> slow = options_.devices[0]->AcquireEvent().value();
  std::promise<void> queued, over;
  std::thread other([&] {
    auto batch = pipeline->Next(absl::Seconds(30));
    EXPECT_TRUE(batch.ok() && *batch) << batch.status();
    (*batch)->WaitOn(stream);
    EXPECT_EQ(options_.devices[0]->Occupy(stream, kLong), absl::OkStatus());
    EXPECT_EQ(slow->Record(stream), absl::OkStatus());
    (*batch)->Release();
    queued.set_value();
    over.get_future().wait();  // The stream goes with its thread.
  });
  queued.get_future().wait();
  for (int i = 1; i < 5 * kBatches;) {
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) continue;
    ++i;
    (*batch)->WaitOn(stream);
    ExpectSame(**batch, host, cudaStreamPerThread);
  }
  EXPECT_FALSE(slow->Done().value()) << "all other batches were to pass beside the long kernel";
  over.set_value();
  other.join();
  EXPECT_EQ(pipeline->Stats().batches, 5 * kBatches);
}

// F09. Work on the legacy default stream, which waits for every blocking stream and is waited for
// by it, does not hold back uploads.
TEST_F(CudaConsumerTest, UploadsRunBesideTheLegacyDefaultStream) {
  const auto device = OpenDevice("cuda:0").value();
  const auto legacy = device->AcquireEvent().value();
  const auto pipeline = Make({0});
  ASSERT_EQ(device->Occupy(StreamRef::LegacyDefault(), kLong), absl::OkStatus());
  ASSERT_EQ(legacy->Record(StreamRef::LegacyDefault()), absl::OkStatus());
  for (int i = 0; i < kBatches; ++i) {
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok() && *batch) << batch.status();
    ASSERT_EQ((*batch)->Wait(), absl::OkStatus());  // Its upload and device steps are done.
  }
  EXPECT_FALSE(legacy->Done().value()) << "all uploads were to pass beside the long kernel";
}

// F10. Any number of upload streams gives the same batches in the same order.
TEST_F(CudaConsumerTest, StreamsChangeNoByteAndNoOrder) {
  options_.epochs = 5;
  const RunResult host = OnTheHost();
  const ConsumerStream stream;
  for (const char* streams : {"streams: 1", "streams: 2", "streams: 4"}) {
    const auto pipeline = Make({0}, Text("", streams));
    int64_t next = 0;
    for (int i = 0; i < 5 * (kBatches + 1); ++i) {
      auto batch = pipeline->Next(absl::Seconds(30));
      ASSERT_TRUE(batch.ok()) << batch.status();
      if (!*batch) continue;
      EXPECT_EQ((*batch)->info().sequence, next++);
      (*batch)->WaitOn(StreamRef(stream));
      ExpectSame(**batch, host, stream);
    }
    EXPECT_EQ(next, 5 * kBatches);
  }
}

// A number in device memory, 0 at first.
class Counter {
 public:
  Counter() {
    EXPECT_EQ(cudaMalloc(&memory_, sizeof(int32_t)), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, 0, sizeof(int32_t)), cudaSuccess);
    EXPECT_EQ(LaunchAdd(cudaStreamPerThread, get(), 0), cudaSuccess);  // Loads the kernel.
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  ~Counter() { (void)cudaFree(memory_); }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  int32_t* get() const { return static_cast<int32_t*>(memory_); }
  int32_t value() const {
    int32_t value = -1;
    EXPECT_EQ(cudaMemcpy(&value, memory_, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }

 private:
  void* memory_ = nullptr;
};

// A graph captured in the mode that forbids the most, on a thread of its own, of a kernel that
// counts.
void CaptureAndLaunch(cudaStream_t stream, const Counter& counter) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(LaunchAdd(stream, counter.get(), 1), cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Let others go on meanwhile.
  EXPECT_EQ(LaunchAdd(stream, counter.get(), 2), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(CudaConsumerTest, GraphsAreCapturedWhileAPipelineRuns) {
  constexpr int kCaptures = 100;
  options_.epochs = kForever;
  const auto pipeline = Make({0});
  std::atomic<bool> over = false;
  std::atomic<int64_t> batches = 0;
  absl::Status ended;
  std::thread consumer([&] {
    const ConsumerStream stream;
    while (!over) {
      auto batch = pipeline->Next(absl::Seconds(30));
      if (!batch.ok()) {
        ended = batch.status();
        return;
      }
      if (!*batch) continue;
      (*batch)->WaitOn(StreamRef(stream));
      ended.Update((*batch)->status());
      (*batch)->Release();
      ended.Update((*batch)->status());
      ++batches;
    }
  });
  const Counter counter;
  const int64_t batches_before = batches;
  std::thread([&] {
    const ConsumerStream stream;
    for (int i = 0; i < kCaptures; ++i) CaptureAndLaunch(stream, counter);
  }).join();
  const int64_t batches_after = batches;
  over = true;
  consumer.join();
  EXPECT_EQ(ended, absl::OkStatus());
  EXPECT_EQ(counter.value(), 3 * kCaptures);
  EXPECT_GT(batches_after, batches_before + kCaptures) << "the pipeline was to run meanwhile";
}

// Also beginning and ending, which allocate, page-lock and free.
TEST_F(CudaConsumerTest, PipelinesBeginAndEndWhileAGraphIsCaptured) {
  const ConsumerStream stream;
  const Counter counter;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  std::thread([&] {
    const auto pipeline = Make({0});
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok() && *batch) << batch.status();
    EXPECT_EQ((*batch)->Wait(), absl::OkStatus());
  }).join();
  EXPECT_EQ(LaunchAdd(stream, counter.get(), 1), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// F13. Where host memory is asked for, the device's is refused and not touched.
TEST_F(CudaConsumerTest, DeviceMemoryIsNoHostMemory) {
  const auto device = OpenDevice("cuda:0").value();
  constexpr size_t kBytes = size_t{4} << 20;
  const Buffer memory = device->AllocateDevice(kBytes).value();
  const absl::Status refused = device->RegisterHost(memory.data(), kBytes).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("page-locking 4194304 bytes"));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

using CudaConsumerDeathTest = CudaConsumerTest;

// F11. The consumer's kernel writes where nothing is: Next() says so, and the end is quick and
// quiet.
TEST_F(CudaConsumerDeathTest, AFaultyKernelIsNamedAndEndsTheRun) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // CUDA does not survive a fork.
  const auto fail = [this] {
    options_.epochs = kForever;
    auto pipeline = Make({0});
    absl::Status error;
    {
      const ConsumerStream stream;
      auto first = pipeline->Next(absl::Seconds(30));
      if (!first.ok() || !*first) std::exit(2);
      (*first)->WaitOn(StreamRef(stream));
      if (LaunchBadWrite(stream) != cudaSuccess) std::exit(3);
      (*first)->Release();
      for (int i = 0; i < 1000 && error.ok(); ++i) {
        error = pipeline->Next(absl::Seconds(30)).status();
      }
      error = pipeline->Next(absl::Seconds(30)).status();
    }
    const absl::Time start = absl::Now();
    pipeline.reset();
    options_.devices.clear();
    std::cerr << error << '\n';
    std::exit(absl::Now() - start < absl::Seconds(5) && absl::IsAborted(error) ? 0 : 4);
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(0),
              "earlier asynchronous CUDA error: .*illegal memory access");
}

}  // namespace
}  // namespace penstock::testing
