#include "penstock/scheduler/io_pool.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "gtest/gtest.h"

namespace penstock {
namespace {

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

}  // namespace
}  // namespace penstock
