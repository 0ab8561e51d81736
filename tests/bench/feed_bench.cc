// Takes batches of a graph as a training step would, and measures once the run is steady.
//
//   feed_bench GRAPH DATA DEVICE [--seconds=3] [--warm_epochs=0] [--warm_seconds=1] [--threads=N]
//              [--io_threads=N] [--rate=SAMPLES_A_SECOND] [--one_by_one]
//
// --rate: the consumer asks for no more. --one_by_one: it keeps the first batch for ever, and waits
// on the host for each other one before it takes the next, so that with batches_in_flight: 2 an
// interval is the time of one batch from its bytes to the tensor. Prints one line of JSON.
#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tests/bench/feed.h"

namespace penstock::bench {
namespace {

struct Flags {
  double seconds = 3, warm_seconds = 1;
  int warm_epochs = 0;
  FeedOptions feed;
};

bool Set(Flags& flags, absl::string_view flag) {
  absl::string_view v = flag;
  if (absl::ConsumePrefix(&v, "--seconds=")) return absl::SimpleAtod(v, &flags.seconds);
  if (absl::ConsumePrefix(&v, "--warm_seconds=")) return absl::SimpleAtod(v, &flags.warm_seconds);
  if (absl::ConsumePrefix(&v, "--warm_epochs=")) return absl::SimpleAtoi(v, &flags.warm_epochs);
  if (absl::ConsumePrefix(&v, "--threads=")) return absl::SimpleAtoi(v, &flags.feed.threads);
  if (absl::ConsumePrefix(&v, "--io_threads=")) return absl::SimpleAtoi(v, &flags.feed.io_threads);
  if (absl::ConsumePrefix(&v, "--rate=")) return absl::SimpleAtod(v, &flags.feed.rate);
  flags.feed.wait_for_each = flags.feed.hold_first = flag == "--one_by_one";
  return flags.feed.wait_for_each;
}

void Print(const FeedFigures& f, const RunStatistics& stats, absl::Duration first_batch) {
  absl::PrintF(
      "{\"samples_per_second\": %.0f, \"cpu_cores\": %.3f, \"seconds\": %.3f, \"batches\": %d, "
      "\"first_batch_ms\": %.1f, \"batch_p50_ms\": %.3f, \"batch_p95_ms\": %.3f, "
      "\"batch_most_ms\": %.3f, \"decoded_device\": %d, \"decoded_host\": %d, \"bytes_read\": %d, "
      "\"bytes_uploaded\": %d, \"allocations\": %d, \"device_bytes\": %d, \"pinned_bytes\": %d, "
      "\"verdict\": \"%s\"}\n",
      static_cast<double>(f.samples) / f.seconds, f.cpu_seconds / f.seconds, f.seconds, f.batches,
      absl::ToDoubleMilliseconds(first_batch), f.p50_ms, f.p95_ms, f.most_ms, f.decoded_device,
      f.decoded_host, f.bytes_read, f.bytes_uploaded, f.allocations, stats.device_bytes_peak,
      stats.pinned_bytes_peak, stats.verdict);
}

absl::Status Main(int argc, char** argv) {
  Flags flags;
  bool good = argc >= 4;
  for (int i = 4; i < argc; ++i) good &= Set(flags, argv[i]);
  if (!good) return absl::InvalidArgumentError("usage: feed_bench GRAPH DATA DEVICE [FLAGS]");
  flags.feed.graph = argv[1];
  flags.feed.data = argv[2];
  PENSTOCK_ASSIGN_OR_RETURN(flags.feed.device, OpenDevice(argv[3]));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Feed> feed, Feed::Create(flags.feed));
  PENSTOCK_RETURN_IF_ERROR(feed->Epochs(flags.warm_epochs));
  PENSTOCK_RETURN_IF_ERROR(feed->Measure(absl::Seconds(flags.warm_seconds)).status());
  PENSTOCK_ASSIGN_OR_RETURN(const FeedFigures figures, feed->Measure(absl::Seconds(flags.seconds)));
  Print(figures, feed->Stats(), feed->first_batch());
  return absl::OkStatus();
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  const absl::Status status = penstock::bench::Main(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "feed_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
