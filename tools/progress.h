// The progress line of `penstock run`, on stderr.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "penstock/scheduler/statistics.h"

namespace penstock {

// Sums over all outputs, at one moment.
struct ProgressPoint {
  absl::Time time;
  int64_t epoch = 0, batches = 0, samples = 0, bytes = 0;
  int seats = 0, seats_waiting = 0;
};

ProgressPoint MakePoint(const std::vector<RunStatistics>& outputs, absl::Time now);

// "epoch 0, batch 120 of 782, 31234 samples/s, 0.61 GB/s, 2 of 4 seats waiting, ETA 0:12": rates
// are those between the two points. `total` batches may be unknown.
std::string ProgressText(const ProgressPoint& before, const ProgressPoint& now,
                         std::optional<int64_t> total);

// Thread-safe. On a terminal one line is drawn again and again; elsewhere each is a line of its
// own, and there are fewer.
class Progress {
 public:
  // `mode` is "on", "off", or "auto": on if stderr is a terminal.
  explicit Progress(absl::string_view mode);
  ~Progress() { Clear(); }

  void Draw(const std::vector<RunStatistics>& outputs, std::optional<int64_t> total);
  // Draws once more, so that even the shortest run has a line where it was asked for.
  void Finish(const std::vector<RunStatistics>& outputs, std::optional<int64_t> total);
  // Prints a message that the line does not run into.
  void Message(absl::string_view line);

 private:
  void Print(const std::string& line);  // Under mutex_, as all below.
  void Clear();

  const bool terminal_, shown_;
  std::mutex mutex_;
  std::deque<ProgressPoint> points_;  // Of the last seconds.
  absl::Time last_ = absl::InfinitePast();
  bool drawn_ = false;  // There is a line on the terminal.
};

}  // namespace penstock
