// JPEG files through a whole pipeline on CUDA, with a Cache in each place: the bytes of the host.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"
#include "penstock/tests/pipeline/cuda_fixture.h"

namespace penstock::testing {
namespace {

constexpr int kFiles = 120, kBatch = 16, kEpochs = 3;

// Samplings, sizes, restart intervals and contents in turn.
JpegSample SampleNumber(int i) {
  constexpr int kSamplings[][2] = {{2, 2}, {2, 1}, {1, 1}, {1, 2}, {4, 1}};
  JpegSample sample;
  sample.width = 40 + i * 37 % 500;
  sample.height = 40 + i * 53 % 400;
  sample.h = kSamplings[i % 5][0];
  sample.v = kSamplings[i % 5][1];
  sample.quality = 30 + i * 7 % 70;
  sample.restart_interval = i % 3 == 0 ? 1 + i % 11 : 0;
  sample.optimised = i % 2 == 0;
  sample.content = static_cast<JpegSample::Content>(i % 3);
  sample.seed = static_cast<uint32_t>(i);
  return sample;
}

class CudaJpegTest : public CudaPipelineTest {
 protected:
  void SetUp() override {
    CudaPipelineTest::SetUp();
    if (IsSkipped()) return;
    root_ = NewTestFolder("jpegs");
    for (int i = 0; i < kFiles; ++i) {
      const std::string folder = absl::StrCat(root_, "/class", i % 3);
      std::filesystem::create_directories(folder);
      const std::vector<std::byte> file = MakeJpeg(SampleNumber(i));
      bytes_ += static_cast<int64_t>(file.size());
      WriteFile(absl::StrCat(folder, "/", i, ".jpg"),
                std::string(reinterpret_cast<const char*>(file.data()), file.size()));
    }
    options_.registry = nullptr;
    options_.epochs = kEpochs;
  }
  std::string JpegText(const std::string& device, const std::string& cache) const {
    const std::string node =
        cache.empty() ? ""
                      : absl::StrCat("node { stage { [type.googleapis.com/penstock.Cache] { ",
                                     cache, " } } }\n");
    return absl::StrCat(
        "order { shuffle: FULL } batches_in_flight: 6 seed: 3\n"
        "node { stage { [type.googleapis.com/penstock.ReadImageFolder] { root: '",
        root_, "' } } }\n", node,
        "node { stage { [type.googleapis.com/penstock.DecodeImage] { device: ", device,
        " } } }\n"
        "node { stage { [type.googleapis.com/penstock.RandomResizedCrop] { height: 64 width: 72 } "
        "} }\n"
        "node { stage { [type.googleapis.com/penstock.RandomHorizontalFlip] { } } }\n"
        "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: ",
        kBatch,
        " } } }\n"
        "node { stage { [type.googleapis.com/penstock.Upload] { } } }\n"
        "node { stage { [type.googleapis.com/penstock.Normalize] { mean: [0.485, 0.456, 0.406] "
        "std: [0.229, 0.224, 0.225] dtype: FLOAT16 } } }\n");
  }
  const RunResult& Host() {
    if (host_.batches.empty()) {
      PipelineOptions options = options_;
      options.devices.clear();
      host_ = RunGraph(JpegText("HOST", ""), options);
      EXPECT_EQ(host_.status, absl::OkStatus());
    }
    return host_;
  }
  // On the device with that cache; each batch must be the host's.
  RunStatistics Run(const std::string& cache) {
    const auto device = OpenDevice("cuda:0");
    EXPECT_TRUE(device.ok()) << device.status();
    options_.devices = {*device};
    const auto graph = ParseGraph(JpegText("DEVICE", cache), "test", {});
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto pipeline = Pipeline::Create(*graph, options_);
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    if (!pipeline.ok()) return {};
    const ConsumerStream stream;
    for (int ends = 0; ends < kEpochs;) {
      auto batch = (*pipeline)->Next(absl::Seconds(60));
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (!batch.ok()) return {};
      if (!*batch) {
        ++ends;
        continue;
      }
      (*batch)->WaitOn(static_cast<cudaStream_t>(stream));
      ExpectSame(**batch, Host(), stream);
    }
    const RunStatistics statistics = (*pipeline)->Stats();
    EXPECT_EQ(statistics.images_decoded_device, kEpochs * kFiles);
    EXPECT_EQ(statistics.images_repaired, 0);
    EXPECT_EQ(statistics.driver_allocations_after_warmup, 0);
    return statistics;
  }

  int64_t bytes_ = 0;
  RunResult host_;
};

// Of up to six batches it may be too early to find them kept.
constexpr int64_t kMostLate = 6 * kBatch;

TEST_F(CudaJpegTest, WithoutACache) { EXPECT_EQ(Run("").cache_hits, 0); }

TEST_F(CudaJpegTest, KeptInEachPlace) {
  for (const char* place : {"DEVICE", "PINNED", "HOST", "AUTO"}) {
    const RunStatistics s = Run(absl::StrCat("place: ", place, " bytes: 1000000000"));
    EXPECT_GE(s.cache_hits, (kEpochs - 1) * kFiles - kMostLate) << place;
    EXPECT_LT(s.bytes_read, kEpochs * bytes_) << place;
  }
}

TEST_F(CudaJpegTest, KeptInPart) {
  for (const char* place : {"DEVICE", "PINNED", "HOST"}) {
    const RunStatistics s = Run(absl::StrCat("place: ", place, " bytes: ", bytes_ / 2));
    EXPECT_GT(s.cache_hits, 0) << place;
    EXPECT_LT(s.cache_hits, (kEpochs - 1) * kFiles) << place;
    EXPECT_LT(s.bytes_read, kEpochs * bytes_) << place;
  }
}

}  // namespace
}  // namespace penstock::testing
