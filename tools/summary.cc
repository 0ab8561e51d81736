#include "penstock/tools/summary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

std::string Seconds(double seconds) { return absl::StrFormat("%.3f s", seconds); }

// Three digits are enough for a duration.
std::string Microseconds(double us) {
  if (us < 1e3) return absl::StrFormat("%.0f us", us);
  if (us < 1e6) return absl::StrFormat("%.1f ms", us * 1e-3);
  return absl::StrFormat("%.1f s", us * 1e-6);
}

std::string Counted(int64_t count, const char* one, const char* many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string Batches(int64_t count) { return Counted(count, "batch", "batches"); }
std::string Samples(int64_t count) { return Counted(count, "sample", "samples"); }

std::string Megabytes(int64_t bytes) {
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) * 1e-6);
}

std::string StageTable(const RunStatistics& s) {
  size_t width = 5;
  for (const StageStatistics& stage : s.stages) width = std::max(width, stage.name.size());
  const int column = static_cast<int>(width);
  std::string text = absl::StrFormat("  %-*s  %-6s %12s %12s %10s %10s %10s\n", column, "stage",
                                     "place", "busy", "wait", "p50", "p95", "items");
  for (const StageStatistics& stage : s.stages) {
    absl::StrAppendFormat(&text, "  %-*s  %-6s %12s %12s %10s %10s %10d\n", column, stage.name,
                          stage.place, Seconds(stage.busy_s), Seconds(stage.wait_s),
                          Microseconds(stage.p50_us), Microseconds(stage.p95_us), stage.items);
  }
  return text;
}

std::string DeviceLines(const std::vector<RunStatistics>& devices) {
  std::string text;
  for (size_t d = 0; d < devices.size(); ++d) {
    const RunStatistics& s = devices[d];
    absl::StrAppend(&text, "  device ", d, ", ", s.device, ": ", Batches(s.batches), ", ",
                    Samples(s.samples), ", waited ", Seconds(s.next_wait_seconds), "\n");
  }
  return text;
}

// Who decoded, and what was found in a Cache; nothing if there were no images to decode.
std::string ImageLine(const RunStatistics& s) {
  if (s.images_decoded_device + s.images_decoded_host == 0) return "";
  std::string text = absl::StrCat("  decoded ", s.images_decoded_device, " images on the device, ",
                                  s.images_decoded_host, " on the host");
  if (s.images_repaired > 0) {
    absl::StrAppend(&text, " (", s.images_repaired, " that the device found damaged)");
  }
  if (s.cache_hits > 0) absl::StrAppend(&text, "; ", s.cache_hits, " were kept by a Cache");
  return text + "\n";
}

// A line for all threads that are held near their devices; nothing where that makes no difference.
std::string IoThreadsLine(const PipelineInfo& pipeline) {
  std::vector<std::string> parts;
  for (const IoThreadsInfo& io : pipeline.io_threads) {
    if (io.cpus.empty()) continue;
    parts.push_back(absl::StrCat(Counted(io.threads, "I/O thread", "I/O threads"), " on CPUs ",
                                 io.cpus, " (near ", absl::StrJoin(io.devices, ", "), ")"));
  }
  return parts.empty() ? "" : absl::StrCat("\n  ", absl::StrJoin(parts, ", "));
}

}  // namespace

std::string StartText(const RunStatistics& statistics, const PipelineInfo& pipeline,
                      const OutputInfo& output) {
  std::string text = absl::StrCat(statistics.graph, " on ", statistics.device, ", ",
                                  Counted(pipeline.threads, "thread", "threads"), " (",
                                  pipeline.threads_reason, ")");
  if (output.samples_per_epoch && output.batches_per_epoch) {
    absl::StrAppend(&text, ", an epoch has ", Samples(*output.samples_per_epoch), " in ",
                    Batches(*output.batches_per_epoch));
  }
  if (!output.source_summary.empty()) absl::StrAppend(&text, "\n  ", output.source_summary);
  return absl::StrCat(text, IoThreadsLine(pipeline), "\n");
}

std::string Summary(const RunStatistics& s, const std::vector<RunStatistics>& devices) {
  std::string text = absl::StrFormat("%s on %s: %s, %s in %s, %.0f samples/s\n", s.graph, s.device,
                                     Batches(s.batches), Samples(s.samples), Seconds(s.seconds),
                                     s.samples_per_second);
  absl::StrAppendFormat(&text, "  start-up %s, first batch after %s, waited %s for batches\n",
                        Seconds(s.startup_seconds), Seconds(s.first_batch_seconds),
                        Seconds(s.next_wait_seconds));
  absl::StrAppendFormat(&text, "  read %s, uploaded %s at %.2f GB/s, overlap %.0f %%\n",
                        Megabytes(s.bytes_read), Megabytes(s.bytes_uploaded), s.upload_gb_per_s,
                        s.overlap_fraction * 100);
  absl::StrAppend(&text, ImageLine(s));
  if (devices.size() > 1) absl::StrAppend(&text, DeviceLines(devices));
  absl::StrAppend(&text, StageTable(s), "  verdict: ", s.verdict, "\n");
  return text;
}

}  // namespace penstock
