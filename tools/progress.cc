#include "penstock/tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "penstock/tools/messages.h"

namespace penstock {
namespace {

// Rates are means over this time: steady to read, and soon right after a change.
constexpr absl::Duration kWindow = absl::Seconds(3);
constexpr absl::Duration kBetweenLines = absl::Seconds(1);
constexpr char kClearLine[] = "\r\x1b[K";

std::string Clock(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  const int64_t minutes = whole / 60;
  if (minutes < 60) return absl::StrFormat("%d:%02d", minutes, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", minutes / 60, minutes % 60, whole % 60);
}

}  // namespace

ProgressPoint MakePoint(const std::vector<RunStatistics>& outputs, absl::Time now) {
  ProgressPoint point;
  point.time = now;
  for (const RunStatistics& output : outputs) {
    if (!output.epochs.empty()) point.epoch = std::max(point.epoch, output.epochs.back().epoch);
    point.batches += output.batches;
    point.samples += output.samples;
    point.bytes += output.bytes_uploaded;
    point.seats += output.seats;
    point.seats_waiting += output.seats_waiting;
  }
  return point;
}

std::string ProgressText(const ProgressPoint& before, const ProgressPoint& now,
                         std::optional<int64_t> total) {
  const double seconds = std::max(absl::ToDoubleSeconds(now.time - before.time), 1e-9);
  const auto rate = [seconds](int64_t from, int64_t to) {
    return static_cast<double>(to - from) / seconds;
  };
  std::string text = absl::StrCat("epoch ", now.epoch, ", batch ", now.batches);
  if (total) absl::StrAppend(&text, " of ", *total);
  absl::StrAppendFormat(&text, ", %.0f samples/s, %.2f GB/s, %d of %d seats waiting",
                        rate(before.samples, now.samples), rate(before.bytes, now.bytes) * 1e-9,
                        now.seats_waiting, now.seats);
  const double batches = rate(before.batches, now.batches);
  if (total && batches > 0) {
    absl::StrAppend(&text, ", ETA ", Clock(static_cast<double>(*total - now.batches) / batches));
  }
  return text;
}

Progress::Progress(absl::string_view mode)
    : terminal_(isatty(STDERR_FILENO) == 1),
      shown_(mode == "on" || (mode == "auto" && terminal_)) {}

void Progress::Draw(const std::vector<RunStatistics>& outputs, std::optional<int64_t> total) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  const ProgressPoint now = MakePoint(outputs, absl::Now());
  points_.push_back(now);
  while (points_.size() > 2 && now.time - points_.front().time > kWindow) points_.pop_front();
  if (points_.size() < 2 || (!terminal_ && now.time - last_ < kBetweenLines)) return;
  last_ = now.time;
  Print(ProgressText(points_.front(), now, total));
}

void Progress::Finish(const std::vector<RunStatistics>& outputs, std::optional<int64_t> total) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  const ProgressPoint now = MakePoint(outputs, absl::Now());
  ProgressPoint start;  // Rates of the whole run.
  double seconds = 0;
  for (const RunStatistics& output : outputs) seconds = std::max(seconds, output.seconds);
  start.time = now.time - absl::Seconds(seconds);
  Print(ProgressText(start, now, total));
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

void Progress::Message(absl::string_view line) {
  const std::lock_guard lock(mutex_);
  Clear();
  PrintMessage(line);
}

void Progress::Print(const std::string& line) {
  const std::string text =
      terminal_ ? absl::StrCat(kClearLine, line) : absl::StrCat("penstock: ", line, "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
  drawn_ = terminal_;
}

void Progress::Clear() {
  if (drawn_) std::fputs(kClearLine, stderr);
  drawn_ = false;
}

}  // namespace penstock
