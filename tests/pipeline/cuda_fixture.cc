#include "penstock/tests/pipeline/cuda_fixture.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::testing {

ConsumerStream::ConsumerStream() {
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
}

ConsumerStream::~ConsumerStream() { (void)cudaStreamDestroy(stream_); }

std::string ReadBack(const DeviceBatch& batch, const std::string& tensor, cudaStream_t stream) {
  const TensorView& view = batch.tensor(tensor);
  std::string bytes(view.bytes(), '\0');
  EXPECT_EQ(cudaMemcpyAsync(bytes.data(), view.data, bytes.size(), cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  return bytes;
}

void CudaPipelineTest::SetUp() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    count = 0;
  }
  if (count < devices_needed_) {
    GTEST_SKIP() << "needs " << devices_needed_ << " CUDA device(s), there are " << count;
  }
  root_ = NewTestFolder("cuda");
  WriteFakeFolder(root_, kImages);
  registry_ = MakeTestRegistry();
  options_.registry = &registry_;
  options_.threads = options_.io_threads = 2;
}

std::string CudaPipelineTest::Text(const std::string& decode, const std::string& upload) const {
  return absl::StrCat(
      "order { shuffle: FULL } batches_in_flight: ", kSeats,
      " node { stage { [type.googleapis.com/penstock.testing.ReadFake] { root: \"", root_,
      "\" count: ", kImages,
      " } } } node { stage { [type.googleapis.com/penstock.testing.DecodeFake] { ", decode,
      " } } } "
      "node { stage { [type.googleapis.com/penstock.testing.CropFake] { height: 8 width: 9 } } } "
      "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: 2 } } } "
      "node { stage { [type.googleapis.com/penstock.Upload] { ",
      upload,
      " } } } node { stage { [type.googleapis.com/penstock.Normalize] { "
      "mean: [0.485, 0.456, 0.406] std: [0.229, 0.224, 0.225] } } }");
}

std::unique_ptr<Pipeline> CudaPipelineTest::Make(const std::vector<int>& ordinals,
                                                 const std::string& text) {
  options_.devices.clear();
  for (const int ordinal : ordinals) {
    auto device = OpenDevice(absl::StrCat("cuda:", ordinal));
    EXPECT_TRUE(device.ok()) << device.status();
    options_.devices.push_back(*std::move(device));
  }
  const auto graph = ParseGraph(text, "test", {}, registry_);
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto pipeline = Pipeline::Create(*graph, options_);
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

RunResult CudaPipelineTest::OnTheHost() const {
  PipelineOptions options = options_;
  options.devices.clear();
  RunResult run = RunGraph(Text(), options);
  EXPECT_EQ(run.status, absl::OkStatus());
  return run;
}

void CudaPipelineTest::ExpectSame(const DeviceBatch& batch, const RunResult& host,
                                  cudaStream_t stream) const {
  ASSERT_LT(batch.info().sequence, static_cast<int64_t>(host.batches.size()));
  const Got& expected = host.batches[batch.info().sequence];
  EXPECT_EQ(batch.info().ids, expected.info.ids);
  for (size_t i = 0; i < expected.names.size(); ++i) {
    EXPECT_EQ(ReadBack(batch, expected.names[i], stream), expected.bytes[i])
        << expected.names[i] << " of batch " << batch.info().sequence;
  }
}

NextOptions CudaPipelineTest::Of(int device, absl::Duration timeout) {
  NextOptions next;
  next.device = device;
  next.timeout = timeout;
  return next;
}

}  // namespace penstock::testing
