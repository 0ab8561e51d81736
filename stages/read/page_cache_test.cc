#include "penstock/stages/read/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "penstock/stages/read/temp_folder.h"

namespace penstock {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class PageCacheTest : public ::testing::Test {
 protected:
  void TearDown() override { close(fd_); }
  void Open(const std::string& content) {
    fd_ = open(folder_.Write("data", content).c_str(), O_RDWR);
    ASSERT_GE(fd_, 0);
  }

  const TempFolder folder_;
  int fd_ = -1;
};

TEST_F(PageCacheTest, WhatWasWrittenIsResidentUntilItIsDropped) {
  Open(std::string(8 * kMiB, 'x'));
  EXPECT_EQ(ResidentShare(fd_, 8 * kMiB), 1);
  ASSERT_EQ(fsync(fd_), 0);
  ASSERT_EQ(posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED), 0);
  if (ResidentShare(fd_, 8 * kMiB) == 1) GTEST_SKIP() << "a file system in memory";
  EXPECT_EQ(ResidentShare(fd_, 8 * kMiB), 0);
  // The first half again.
  ASSERT_EQ(readahead(fd_, 0, 4 * kMiB), 0);
  std::string half(4 * kMiB, '\0');
  ASSERT_EQ(pread(fd_, half.data(), half.size(), 0), 4 * kMiB);
  EXPECT_NEAR(ResidentShare(fd_, 8 * kMiB), 0.5, 0.1);
}

TEST_F(PageCacheTest, SmallFilesAndOddSizes) {
  Open("x");
  EXPECT_EQ(ResidentShare(fd_, 1), 1);
  EXPECT_EQ(ResidentShare(fd_, 0), 1);
  EXPECT_FALSE(OutgrowsPageCache(fd_));
  EXPECT_FALSE(OutgrowsPageCache(-1));
}

// Nothing of a sparse file was ever read: it is cold, at any size.
TEST_F(PageCacheTest, ColdFilesThatDoNotFitGoPastIt) {
  Open("x");
  const int64_t memory = AvailableMemory();
  ASSERT_GT(memory, 64 * kMiB);
  ASSERT_LT(memory, int64_t{1} << 50);
  if (ftruncate(fd_, memory + kMiB) != 0) GTEST_SKIP() << "files are limited here";
  EXPECT_LT(ResidentShare(fd_, memory + kMiB), 0.1);
  EXPECT_TRUE(OutgrowsPageCache(fd_));
  ASSERT_EQ(ftruncate(fd_, memory / 4), 0);
  EXPECT_FALSE(OutgrowsPageCache(fd_));
}

}  // namespace
}  // namespace penstock
