// A training loop of your own around a Penstock graph. The model is a toy that learns the mean
// colour of the images, on the CPU, so that it runs everywhere; the rest is as it would be with
// CUDA.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "penstock/graphs/pipeline.h"

ABSL_FLAG(std::string, graph, "train.textproto", "The graph");
ABSL_FLAG(std::string, data, "", "A folder with one sub-folder of images for each class");
ABSL_FLAG(std::string, sample_data, "", "The folder to use if --data is not given");
ABSL_FLAG(std::string, device, "host", "host, or sim; the toy model computes on the CPU");
ABSL_FLAG(int64_t, epochs, 3, "Times to go over the data");

namespace {

// A path of the command line, as the user meant it: `bazel run` starts programs elsewhere.
std::string UsersPath(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  return folder == nullptr || path.empty() || path[0] == '/' ? path
                                                             : std::string(folder) + "/" + path;
}

// Predicts each channel's mean. Your network and its optimizer would be here; their kernels would
// be put into `compute`, and the host would not wait for them.
class Model {
 public:
  // One step on float32 images [batch, 3, height, width]; returns the mean squared error.
  double Step(const penstock::TensorView& image, penstock::StreamRef /*compute*/) {
    constexpr double kRate = 0.2;
    const int64_t batch = image.shape[0], pixels = image.shape[2] * image.shape[3];
    double loss = 0;
    for (int64_t c = 0; c < kChannels; ++c) {
      double gradient = 0;
      for (int64_t n = 0; n < batch; ++n) {
        const float* plane = image.as<float>() + (n * kChannels + c) * pixels;
        for (int64_t i = 0; i < pixels; ++i) {
          const double error = plane[i] - mean_[c];
          loss += error * error;
          gradient += error;
        }
      }
      mean_[c] += kRate * gradient / static_cast<double>(batch * pixels);
    }
    return loss / static_cast<double>(image.items());
  }

 private:
  static constexpr int64_t kChannels = 3;
  std::array<double, kChannels> mean_{};
};

absl::Status Train(penstock::StreamRef compute) {
  const int64_t epochs = absl::GetFlag(FLAGS_epochs);
  const std::string data = absl::GetFlag(FLAGS_data).empty() ? absl::GetFlag(FLAGS_sample_data)
                                                             : UsersPath(absl::GetFlag(FLAGS_data));
  PENSTOCK_ASSIGN_OR_RETURN(auto graph,
                            penstock::LoadGraph(absl::GetFlag(FLAGS_graph), {{"data", data}}));
  penstock::PipelineOptions options;
  options.epochs = epochs;
  options.log = [](absl::string_view line) { std::cerr << line << std::endl; };
  // Left out, it is the current CUDA device.
  PENSTOCK_ASSIGN_OR_RETURN(options.devices.emplace_back(),
                            penstock::OpenDevice(absl::GetFlag(FLAGS_device)));
  PENSTOCK_ASSIGN_OR_RETURN(auto pipeline, penstock::Pipeline::Create(graph, options));

  Model model;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    double loss = 0;
    int64_t samples = 0;
    for (;;) {
      PENSTOCK_ASSIGN_OR_RETURN(std::optional<penstock::DeviceBatch> batch, pipeline->Next());
      if (!batch) break;       // Once at each epoch's end.
      batch->WaitOn(compute);  // What is put into `compute` from now on finds the batch there.
      loss += model.Step(batch->tensor("image"), compute) * static_cast<double>(batch->size());
      samples += batch->size();
      PENSTOCK_RETURN_IF_ERROR(batch->status());
    }  // The batch's memory is used again once `compute` has come this far.
    std::cout << "epoch " << epoch << ": " << samples << " samples, loss "
              << loss / static_cast<double>(samples) << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Trains a toy on a folder of images, to show how Penstock is embedded.");
  absl::ParseCommandLine(argc, argv);
  // On the CPU the default stream is the calling thread.
  const absl::Status status = Train(penstock::StreamRef::LegacyDefault());
  if (status.ok()) return 0;
  std::cerr << status.message() << std::endl;
  return 1;
}
