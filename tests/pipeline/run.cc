#include "penstock/tests/pipeline/run.h"

#include <utility>

namespace penstock::testing {
namespace {

Got Keep(const DeviceBatch& batch) {
  Got got;
  got.info = batch.info();
  for (const auto& [name, view] : batch.tensors()) {
    got.names.push_back(name);
    got.shapes.push_back(view.shape);
    got.bytes.emplace_back(reinterpret_cast<const char*>(view.data), view.bytes());
  }
  return got;
}

}  // namespace

std::string RunResult::Bytes(absl::string_view tensor) const {
  std::string all;
  for (const Got& got : batches) {
    for (size_t i = 0; i < got.names.size(); ++i) {
      if (got.names[i] == tensor) all += got.bytes[i];
    }
  }
  return all;
}

std::vector<int64_t> RunResult::Ids(int64_t epoch) const {
  std::vector<int64_t> ids;
  for (const Got& got : batches) {
    if (got.info.epoch == epoch) ids.insert(ids.end(), got.info.ids.begin(), got.info.ids.end());
  }
  return ids;
}

std::shared_ptr<SimDevice> HostDevice() {
  SimOptions options;
  options.name = "host";
  return SimDevice::Create(options);
}

RunResult TakeAll(Pipeline& pipeline, const NextOptions& next, int64_t epochs) {
  RunResult run;
  while (run.epoch_ends < epochs) {
    auto batch = pipeline.Next(next);
    if (!batch.ok()) {
      run.status = batch.status();
      break;
    }
    if (!*batch) {
      ++run.epoch_ends;
      continue;
    }
    (*batch)->WaitOn(StreamRef::LegacyDefault());
    run.batches.push_back(Keep(**batch));
  }
  run.statistics = pipeline.Stats(next.output, next.device);
  return run;
}

RunResult RunGraph(const std::string& text, PipelineOptions options) {
  RunResult run;
  if (options.devices.empty()) options.devices = {HostDevice()};
  const Registry& registry = options.registry != nullptr ? *options.registry : Registry::Default();
  const auto graph = ParseGraph(text, "test.textproto", {}, registry);
  if (!graph.ok()) {
    run.status = graph.status();
    return run;
  }
  auto pipeline = Pipeline::Create(*graph, options);
  if (!pipeline.ok()) {
    run.status = pipeline.status();
    return run;
  }
  NextOptions next;
  next.timeout = absl::Seconds(30);
  return TakeAll(**pipeline, next, options.epochs);
}

}  // namespace penstock::testing
