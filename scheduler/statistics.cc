#include "penstock/scheduler/statistics.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace penstock {
namespace {

// A run that is over sooner than this, or has fewer batches, tells about its start only.
constexpr double kShortSeconds = 0.2;
constexpr int64_t kFewBatches = 8;
// A consumer that waited less than this share of the run has what it can take.
constexpr double kHardlyWaits = 0.1;
// A step that is busy for less than this is not what all wait for.
constexpr double kHardlyBusy = 0.5;

Limit LimitOf(const std::string& place) {
  if (place == "io") return Limit::kRead;
  if (place == "host") return Limit::kHost;
  if (place == "copy") return Limit::kUpload;
  return place == "consumer" ? Limit::kConsumer : Limit::kDevice;
}

const char* Remedy(Limit limit) {
  switch (limit) {
    case Limit::kRead:
      return "read from faster storage, or raise --threads (reads get as many)";
    case Limit::kHost:
      return "more --threads or less work a sample makes it faster";
    case Limit::kUpload:
      return "the link is full: send fewer bytes";
    case Limit::kDevice:
      return "the device's own work is the slowest part";
    default:
      return "";
  }
}

}  // namespace

const char* Name(Limit limit) {
  switch (limit) {
    case Limit::kRead:
      return "read";
    case Limit::kHost:
      return "host";
    case Limit::kUpload:
      return "upload";
    case Limit::kDevice:
      return "device";
    case Limit::kConsumer:
      return "consumer";
    case Limit::kNone:
      break;
  }
  return "none";
}

void Judge(RunStatistics& s) {
  s.limit = Limit::kNone;
  s.verdict = "nothing was delivered";
  if (s.batches == 0 || s.seconds <= 0) return;
  if (s.seconds < kShortSeconds || s.batches < kFewBatches) {
    s.verdict = absl::StrFormat("%d batches in %.3f s are too few to tell what limits the run",
                                s.batches, s.seconds);
    return;
  }
  // The wait for the first batch is start-up, not a limit.
  const double steady = std::max(s.seconds - s.first_batch_seconds, 1e-9);
  const double waited = std::max(0.0, s.next_wait_seconds - s.first_batch_seconds);
  const double share = std::min(1.0, waited / steady);
  const auto busiest =
      std::max_element(s.stages.begin(), s.stages.end(),
                       [](const auto& a, const auto& b) { return a.utilisation < b.utilisation; });
  if (share < kHardlyWaits || busiest == s.stages.end()) {
    s.limit = Limit::kConsumer;
    s.verdict = absl::StrFormat(
        "limited by the consumer: it waited %.0f %% of the time; batches were ready", share * 100);
    return;
  }
  if (busiest->utilisation < kHardlyBusy) {
    s.verdict = absl::StrFormat(
        "nothing is busy most of the time (%s: %.0f %%), yet the consumer waited %.0f %%: the CPUs "
        "are "
        "shared with others, or too few batches are in flight; raise batches_in_flight",
        busiest->name, busiest->utilisation * 100, share * 100);
    return;
  }
  s.limit = LimitOf(busiest->place);
  if (s.limit == Limit::kConsumer) {
    s.verdict = absl::StrFormat("limited by the consumer: its work took %.0f %% of the time",
                                busiest->utilisation * 100);
    return;
  }
  s.verdict = absl::StrFormat(
      "limited by %s (%s): busy %.0f %% of what it has, while the consumer waited %.0f %%; %s",
      busiest->name, busiest->place, busiest->utilisation * 100, share * 100, Remedy(s.limit));
}

}  // namespace penstock
