// A program that ends while its pipeline, held in a static, is at work.
//
//   exit_probe GRAPH DATA DEVICE main|worker|fork
//
// Leaves by returning from main(), or by exit() on another thread; "fork": a child of the process
// leaves first, after it was told that the pipeline is not its own. Prints "N batches"; says
// nothing else, and exits with 0.
#include <sys/wait.h>
#include <unistd.h>

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
  return absl::OkStatus();
}

// Keeps the last one of some batches.
absl::Status Take() {
  int batches = 0;
  while (batches < 3) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DeviceBatch> batch, pipeline->Next());
    if (!batch) continue;
    ++batches;
    held = std::move(batch);
  }
  std::cout << batches << " batches\n" << std::flush;  // A child must not have it too.
  return absl::OkStatus();
}

// The child leaves by exit(), so that it ends what is static too.
absl::Status Fork() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // Were it to wait for threads that it does not have.
    const absl::Status status = pipeline->Next().status();
    std::exit(absl::IsFailedPrecondition(status) ? 0 : 1);
  }
  int ended = 0;
  if (child < 0 || waitpid(child, &ended, 0) != child || ended != 0) {
    return absl::InternalError("the child did not end well");
  }
  return Take();
}

int Main(char** arguments) {
  absl::Status status = Start(arguments[1], arguments[2], arguments[3]);
  if (status.ok()) status = Take();
  if (status.ok() && arguments[4] == std::string("fork")) status = Fork();
  if (!status.ok()) {
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
    std::cerr << "exit_probe GRAPH DATA DEVICE main|worker|fork\n";
    return 2;
  }
  return penstock::Main(arguments);
}
