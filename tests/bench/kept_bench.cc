// What the host does for encoded samples that are kept on the device: its CPU time a sample, with a
// device that does nothing.
//
//   kept_bench FOLDER [SAMPLES [BATCH [EPOCHS [THREADS]]]]
//
// Makes files in FOLDER, runs the recipe of an image classifier over them, and prints one line.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "penstock/graphs/pipeline.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/transform/normalize_stage.h"
#include "penstock/stages/transform/random_horizontal_flip_stage.h"
#include "penstock/stages/transform/random_resized_crop_stage.h"
#include "penstock/tests/bench/figures.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

// One fills the cache; its last batches are found from within the next one on.
constexpr int kWarmEpochs = 2;
constexpr int kHeight = 124, kWidth = 128;  // As many bytes as a photograph of 500 x 375 has.

// As large a descriptor as a JPEG's, and no work.
class IdleDecoder final
    : public DeviceForm<DeviceKind::kSim, DecodeFakeStage, RandomResizedCropStage,
                        RandomHorizontalFlipStage, NormalizeStage> {
 public:
  using DeviceForm::DeviceForm;
  size_t descriptor_bytes() const override { return 80; }
  size_t row_scratch_bytes(const RowShape& row) const override {
    return static_cast<size_t>(row.regions[1].area());
  }
  bool reports_status() const override { return true; }
  absl::Status Enqueue(const DeviceCall&) const override { return absl::OkStatus(); }
};

std::string Text(const std::string& folder, int samples, int batch) {
  return absl::StrReplaceAll(
      R"pb(
        order { shuffle: FULL }
        batches_in_flight: 8
        node {
          stage {
            [type.googleapis.com/penstock.testing.ReadFake] { root: "$folder" count: $samples }
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.Cache] { place: DEVICE bytes: 4294967296 }
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.testing.DecodeFake] { device: DEVICE }
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.RandomResizedCrop] { height: 224 width: 224 }
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.RandomHorizontalFlip] {}
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.Collate] { batch_size: $batch tail: DROP }
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.Upload] {}
          }
        }
        node {
          stage {
            [type.googleapis.com/penstock.Normalize] {
              mean: [ 0.5, 0.5, 0.5 ]
              std: [ 0.2, 0.2, 0.2 ]
              dtype: FLOAT16
            }
          }
        }
      )pb",
      {{"$folder", folder}, {"$samples", absl::StrCat(samples)}, {"$batch", absl::StrCat(batch)}});
}

absl::Status TakeEpoch(Pipeline& pipeline) {
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto batch, pipeline.Next());
    if (!batch) return absl::OkStatus();
  }
}

absl::Status Run(const std::string& folder, int samples, int batch, int epochs, int threads) {
  std::string file(48000, 'x');
  file.replace(0, kFakeHeaderBytes, EncodeFake({kFakeGood, kHeight, kWidth, 0}), 0,
               kFakeHeaderBytes);
  for (int i = 0; i < samples; ++i) WriteFile(absl::StrCat(folder, "/", i, ".fake"), file);
  Registry registry = MakeTestRegistry();
  registry.Add<IdleDecoder>();
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph,
                            ParseGraph(Text(folder, samples, batch), "bench", {}, registry));
  PipelineOptions options;
  options.registry = &registry;
  options.epochs = kWarmEpochs + epochs;
  options.threads = threads;
  SimOptions sim;
  sim.name = "host";
  options.devices = {SimDevice::Create(sim)};
  PENSTOCK_ASSIGN_OR_RETURN(const auto pipeline, Pipeline::Create(graph, options));
  for (int epoch = 0; epoch < kWarmEpochs; ++epoch) PENSTOCK_RETURN_IF_ERROR(TakeEpoch(*pipeline));
  const double cpu = bench::CpuSeconds();
  const absl::Time start = absl::Now();
  const int64_t hits = pipeline->Stats().cache_hits;
  for (int epoch = 0; epoch < epochs; ++epoch) PENSTOCK_RETURN_IF_ERROR(TakeEpoch(*pipeline));
  const int whole_batches = samples / batch;
  const auto taken = static_cast<double>(int64_t{epochs} * whole_batches * batch);
  const RunStatistics s = pipeline->Stats();
  absl::PrintF(
      "%.0f samples: %.2f us of CPU each, %.0f samples/s, %d hits; tasks %.2f us, device's "
      "thread %.2f us\n",
      taken, (bench::CpuSeconds() - cpu) / taken * 1e6,
      taken / absl::ToDoubleSeconds(absl::Now() - start), s.cache_hits - hits,
      s.stages[1].busy_s / static_cast<double>(s.stages[1].items) * 1e6,
      (s.queue_busy_seconds + s.queue_polling_seconds) / static_cast<double>(s.samples) * 1e6);
  return absl::OkStatus();
}

}  // namespace
}  // namespace penstock::testing

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  const absl::Status status = penstock::testing::Run(argc > 1 ? argv[1] : ".", number(2, 2048),
                                                     number(3, 256), number(4, 50), number(5, 0));
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
