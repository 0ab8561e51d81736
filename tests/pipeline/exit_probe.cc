// A program that ends while its pipeline, held in a static, is at work.
//
//   exit_probe GRAPH DATA DEVICE main|worker
//
// Leaves by returning from main(), or by exit() on another thread. Prints "N batches"; says nothing
// else, and exits with 0.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "penstock/graphs/pipeline.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// Ends after CUDA has, since it was there before CUDA.
std::unique_ptr<Pipeline> pipeline;  // NOLINT(cert-err58-cpp)
std::optional<DeviceBatch> held;

absl::Status Start(const std::string& text, const std::string& data, const std::string& device) {
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph, LoadGraph(text, {{"data", data}}));
  PipelineOptions options;
  options.epochs = 1000000;
  PENSTOCK_ASSIGN_OR_RETURN(options.devices, OpenDevices(device));
  PENSTOCK_ASSIGN_OR_RETURN(pipeline, Pipeline::Create(graph, std::move(options)));
  int batches = 0;
  while (batches < 3) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline->Next());
    if (!batch) continue;
    ++batches;
    held = std::move(batch);
  }
  std::cout << batches << " batches" << std::endl;
  return absl::OkStatus();
}

int Main(char** arguments) {
  if (const absl::Status status = Start(arguments[1], arguments[2], arguments[3]); !status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  if (arguments[4] == std::string("worker")) {
    std::thread([] { std::exit(0); }).join();
  }
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int count, char** arguments) {
  if (count != 5) {
    std::cerr << "exit_probe GRAPH DATA DEVICE main|worker\n";
    return 2;
  }
  return penstock::Main(arguments);
}
