// What the tests of a Pipeline on CUDA share: a graph of small images, its bytes as a run on the
// host gives them, and a consumer that uses the CUDA runtime itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {

// Owns a stream of the device that is current when it is made.
class ConsumerStream {
 public:
  ConsumerStream();
  ~ConsumerStream();
  ConsumerStream(const ConsumerStream&) = delete;
  ConsumerStream& operator=(const ConsumerStream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

// A tensor's bytes, read back in `stream`, which has waited for the batch; waits for the copy.
std::string ReadBack(const DeviceBatch& batch, const std::string& tensor, cudaStream_t stream);

// Skips its tests where there are fewer CUDA devices than they need. Makes no context itself.
class CudaPipelineTest : public ::testing::Test {
 protected:
  static constexpr int kSeats = 3;

  explicit CudaPipelineTest(int devices = 1) : devices_needed_(devices) {}
  void SetUp() override;

  // Batches of two images, normalised on the device; `more` are fields of the graph.
  std::string Text(const std::string& decode = "", const std::string& upload = "") const;
  // On the CUDA devices with these numbers. `options_` says the rest.
  std::unique_ptr<Pipeline> Make(const std::vector<int>& ordinals, const std::string& text);
  std::unique_ptr<Pipeline> Make(const std::vector<int>& ordinals) {
    return Make(ordinals, Text());
  }
  // The batches of the same run on the host, by sequence.
  RunResult OnTheHost() const;
  // That `batch`, which `stream` has waited for, is the same as there.
  void ExpectSame(const DeviceBatch& batch, const RunResult& host, cudaStream_t stream) const;
  static NextOptions Of(int device, absl::Duration timeout = absl::Seconds(30));

  static constexpr int kImages = 40, kBatches = 20;  // An epoch.
  const int devices_needed_;
  std::string root_;
  Registry registry_;
  PipelineOptions options_;
};

}  // namespace penstock::testing
