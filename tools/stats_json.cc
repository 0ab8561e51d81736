#include "penstock/tools/stats_json.h"

#include <cmath>

#include "nlohmann/json.hpp"
#include "penstock/tools/version.h"

namespace penstock {
namespace {

// Keeps the order in which keys are written.
using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

// JSON has no infinities.
double Finite(double value) { return std::isfinite(value) ? value : 0; }

Json Stages(const std::vector<StageStatistics>& stages) {
  Json array = Json::array();
  for (const StageStatistics& stage : stages) {
    array.push_back({{"name", stage.name},
                     {"place", stage.place},
                     {"busy_s", Finite(stage.busy_s)},
                     {"wait_s", Finite(stage.wait_s)},
                     {"p50_us", Finite(stage.p50_us)},
                     {"p95_us", Finite(stage.p95_us)},
                     {"items", stage.items}});
  }
  return array;
}

Json Epochs(const std::vector<EpochStatistics>& epochs) {
  Json array = Json::array();
  for (const EpochStatistics& epoch : epochs) {
    array.push_back({{"epoch", epoch.epoch},
                     {"batches", epoch.batches},
                     {"samples", epoch.samples},
                     {"seconds", Finite(epoch.seconds)}});
  }
  return array;
}

Json Object(const RunStatistics& s) {
  return {{"schema", kSchema},
          {"version", kVersion},
          {"graph", s.graph},
          {"device", s.device},
          {"rank", s.rank},
          {"world", s.world},
          {"samples", s.samples},
          {"batches", s.batches},
          {"seconds", Finite(s.seconds)},
          {"samples_per_second", Finite(s.samples_per_second)},
          {"first_batch_seconds", Finite(s.first_batch_seconds)},
          {"startup_seconds", Finite(s.startup_seconds)},
          {"pinning_seconds", Finite(s.pinning_seconds)},
          {"next_wait_seconds", Finite(s.next_wait_seconds)},
          {"cpu_seconds", Finite(s.cpu_seconds)},
          {"queue_busy_seconds", Finite(s.queue_busy_seconds)},
          {"queue_polling_seconds", Finite(s.queue_polling_seconds)},
          {"bytes_read", s.bytes_read},
          {"bytes_uploaded", s.bytes_uploaded},
          {"bytes_gathered", s.bytes_gathered},
          {"upload_gb_per_s", Finite(s.upload_gb_per_s)},
          {"overlap_fraction", Finite(s.overlap_fraction)},
          {"copy_utilisation", Finite(s.copy_utilisation)},
          {"copy_gap_p95_us", Finite(s.copy_gap_p95_us)},
          {"copy_gap_longest_us", Finite(s.copy_gap_longest_us)},
          {"pinned_bytes_peak", s.pinned_bytes_peak},
          {"device_bytes_peak", s.device_bytes_peak},
          {"driver_allocations_after_warmup", s.driver_allocations_after_warmup},
          {"host_writes_per_byte", Finite(s.host_writes_per_byte)},
          {"scratch_bytes_per_byte", Finite(s.scratch_bytes_per_byte)},
          {"images_decoded_host", s.images_decoded_host},
          {"images_decoded_device", s.images_decoded_device},
          {"images_repaired", s.images_repaired},
          {"cache_hits", s.cache_hits},
          {"skipped", s.skipped},
          {"limit", Name(s.limit)},
          {"verdict", s.verdict},
          {"epochs", Epochs(s.epochs)},
          {"stages", Stages(s.stages)}};
}

Json Object(const OutputStatistics& output) {
  Json object = Object(output.statistics);
  if (output.devices.size() > 1) {
    Json& array = object["devices"] = Json::array();
    for (const RunStatistics& device : output.devices) array.push_back(Object(device));
  }
  return object;
}

}  // namespace

std::string StatsJson(const std::vector<OutputStatistics>& outputs) {
  Json document = Object(outputs.front());
  if (outputs.size() > 1) {
    Json& array = document["outputs"] = Json::array();
    for (const OutputStatistics& output : outputs) {
      Json named = {{"output", output.output}};
      named.update(Object(output));
      array.push_back(std::move(named));
    }
  }
  constexpr int kIndent = 2;
  // Names come from files and need not be UTF-8.
  return document.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace penstock
