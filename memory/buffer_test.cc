#include "penstock/memory/buffer.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace penstock {
namespace {

class BufferTest : public testing::Test {
 protected:
  Buffer Make(int index) {
    return Buffer(&bytes_[index], 1,
                  [this](std::byte* data) { freed_.push_back(static_cast<int>(data - bytes_)); });
  }

  std::byte bytes_[2];
  std::vector<int> freed_;
};

TEST_F(BufferTest, IsEmptyByDefault) {
  const Buffer buffer;
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
}

TEST_F(BufferTest, FreesOnce) {
  {
    Buffer buffer = Make(1);
    EXPECT_EQ(buffer.data(), &bytes_[1]);
    EXPECT_EQ(buffer.size(), 1u);
    buffer.Reset();
    EXPECT_EQ(freed_, std::vector<int>{1});
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(buffer.size(), 0u);
  }
  EXPECT_EQ(freed_, std::vector<int>{1});
}

TEST_F(BufferTest, MovesItsBytes) {
  Buffer from = Make(0);
  {
    const Buffer to = std::move(from);
    EXPECT_EQ(to.data(), &bytes_[0]);
    EXPECT_EQ(from.data(), nullptr);  // NOLINT(bugprone-use-after-move)
    EXPECT_TRUE(freed_.empty());
  }
  EXPECT_EQ(freed_, std::vector<int>{0});
}

TEST_F(BufferTest, MoveAssignmentFreesWhatItHeld) {
  Buffer to = Make(0);
  Buffer from = Make(1);
  to = std::move(from);
  EXPECT_EQ(freed_, std::vector<int>{0});
  EXPECT_EQ(to.data(), &bytes_[1]);
  to = Buffer();
  EXPECT_EQ(freed_, (std::vector<int>{0, 1}));
}

TEST_F(BufferTest, MoveAssignmentToItselfKeepsIt) {
  Buffer buffer = Make(0);
  Buffer& same = buffer;
  buffer = std::move(same);
  EXPECT_TRUE(freed_.empty());
  EXPECT_EQ(buffer.data(), &bytes_[0]);
}

}  // namespace
}  // namespace penstock
