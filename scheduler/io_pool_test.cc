#include "penstock/scheduler/io_pool.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/memory/cpu_set.h"
#include "penstock/memory/testing/thread_cpus.h"

namespace penstock {
namespace {

using ::testing::Each;

// Where the jobs of such a pool may run, as the kernel says from within, and how many there were.
std::multiset<std::string> CpusOfJobs(int threads, const std::vector<int>& cpus) {
  std::mutex mutex;
  std::multiset<std::string> seen;
  auto pool = *IoPool::Create(threads, cpus);
  pool->Submit(std::vector<IoPool::Job>(20, [&](FileReader&) {
    const std::lock_guard lock(mutex);
    seen.insert(CpusOfThisThread());
  }));
  pool.reset();  // Runs them all.
  return seen;
}

TEST(IoPoolTest, RunsEveryJobOnceAlsoThoseQueuedAtTheEnd) {
  std::atomic<int> ran{0};
  {
    const auto pool = *IoPool::Create(3);
    for (int i = 0; i < 100; ++i) {
      std::vector<IoPool::Job> jobs(10, [&ran](FileReader&) { ++ran; });
      pool->Submit(std::move(jobs));
    }
  }
  EXPECT_EQ(ran, 1000);
}

// As many jobs as there are threads wait for each other: they can only end if all run at once.
TEST(IoPoolTest, RunsAsManyJobsAtOnceAsThreads) {
  constexpr int kThreads = 4;
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  const auto pool = *IoPool::Create(kThreads);
  std::vector<IoPool::Job> jobs(kThreads, [&](FileReader&) {
    std::unique_lock lock(mutex);
    ++arrived;
    changed.notify_all();
    changed.wait(lock, [&] { return arrived == kThreads; });
  });
  pool->Submit(std::move(jobs));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return arrived == kThreads; });
}

TEST(IoPoolTest, RunsItsJobsOnItsCpus) {
  for (const int cpu : AllowedCpus()) {
    const std::multiset<std::string> seen = CpusOfJobs(3, {cpu});
    EXPECT_EQ(seen.size(), 20u);
    EXPECT_THAT(seen, Each(CpuListText({cpu})));
  }
}

// All threads, busy or not, before the first job.
TEST(IoPoolTest, TheKernelShowsItsThreads) {
  const std::string last = CpuListText({AllowedCpus().back()});
  const auto bound = *IoPool::Create(2, {AllowedCpus().back()});
  EXPECT_EQ(CpusOfThreads("penstock-io"), (std::multiset<std::string>{last, last}));
  const auto free = *IoPool::Create(1);
  EXPECT_EQ(CpusOfThreads("penstock-io"),
            (std::multiset<std::string>{last, last, CpusOfThisThread()}));
}

TEST(IoPoolTest, RunsAnywhereWithoutCpusOrWithNoneThatThereAre) {
  const std::string all = CpusOfThisThread();
  EXPECT_THAT(CpusOfJobs(2, {}), Each(all));
  EXPECT_THAT(CpusOfJobs(2, {100000}), Each(all));
}

}  // namespace
}  // namespace penstock
