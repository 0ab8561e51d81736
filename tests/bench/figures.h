// What the benchmarks of this folder share.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "penstock/memory/check.h"

namespace penstock::bench {

// Ends the program with the error's text, if it is one.
inline void Check(const absl::Status& status) {
  PENSTOCK_CHECK(status.ok(), std::string(status.message()));
}

// Seconds that `work` takes.
template <class Work>
double Seconds(Work work) {
  const absl::Time start = absl::Now();
  work();
  return absl::ToDoubleSeconds(absl::Now() - start);
}

// That this process has used so far, of all its threads.
inline double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// That the calling thread has used so far.
inline double ThreadCpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The best of several runs.
class Best {
 public:
  void Add(double seconds) { seconds_ = seconds_ == 0 ? seconds : std::min(seconds_, seconds); }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

// One line: what was measured, the limit that was measured beside it, their ratio, and what the
// ratio should be.
inline void Print(const std::string& name, double value, const std::string& unit, double limit,
                  double ratio, const std::string& target) {
  std::printf("%-24s %9.4f %-6s limit %9.4f  ratio %6.4f  target %s\n", name.c_str(), value,
              unit.c_str(), limit, ratio, target.c_str());
  std::fflush(stdout);
}

}  // namespace penstock::bench
