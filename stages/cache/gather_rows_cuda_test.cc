// The kernel that gathers rows as they are against SimGather, byte for byte. Skips itself where
// there is no CUDA device.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/testing/gather_runner.h"

namespace penstock {
namespace {

class GatherRowsCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create(0);
    if (!device.ok()) GTEST_SKIP() << device.status();
    cuda_ = std::make_unique<GatherRunner>(*std::move(device));
  }

  void Check(int64_t row_bytes, const GatherCase& c) {
    SCOPED_TRACE(absl::StrCat("rows of ", row_bytes, ", shift ", c.shift, ", gap ", c.gap,
                              ", out_shift ", c.out_shift));
    const FieldSpec row = {.name = "row", .dtype = kUint8, .shape = {row_bytes}};
    const auto chain = GatherChain::Create(row, {});
    ASSERT_TRUE(chain.ok()) << chain.status();
    const auto expected = sim_.Run(*chain, c), got = cuda_->Run(*chain, c);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), expected->size());
    const auto differ = std::mismatch(got->begin(), got->end(), expected->begin());
    EXPECT_TRUE(differ.first == got->end())
        << "byte " << differ.first - got->begin() << " of " << got->size() << " is "
        << int{*differ.first} << ", expected " << int{*differ.second};
  }

  GatherRunner sim_{SimDevice::Create()};
  std::unique_ptr<GatherRunner> cuda_;
};

// Around a word, a block's words, the piece of a row that a block takes (16 KiB), and several.
TEST_F(GatherRowsCudaTest, CopiesRowsOfAnySize) {
  for (const int64_t bytes : {1, 3, 15, 16, 17, 100, 3072, 4095, 4096, 4097, 16383, 16384, 16385,
                              16400, 32768, 65535, 150528, 1048583}) {
    for (const bool on_host : {false, true}) {
      Check(bytes, {.rows_on_host = on_host});
      Check(bytes, {.shift = 16, .gap = 16, .rows_on_host = on_host, .carries = {8}});
    }
  }
}

TEST_F(GatherRowsCudaTest, CopiesRowsAtAnyAddress) {
  for (const int64_t bytes : {1, 16, 33, 160, 16385, 40000}) {
    for (const size_t shift : {0, 1, 2, 4, 8, 15}) {
      for (const size_t out_shift : {0, 1, 4, 8, 13}) {
        for (const size_t gap : {0, 1, 16}) {
          Check(bytes, {.counts = {2, 3},
                        .shift = shift,
                        .gap = gap,
                        .rows_on_host = (shift + gap) % 2 == 1,
                        .entries_on_device = out_shift == 4,
                        .out_shift = out_shift,
                        .carries = {shift + 1, 4097}});
        }
      }
    }
  }
}

// As many batches as a launch can take, of different sizes and some without rows; more pieces than
// a grid has blocks.
TEST_F(GatherRowsCudaTest, TakesSeveralBatchesInOneCall) {
  GatherCase c = {.counts = {0, 5, 1, 257, 0, 3, 2000, 0}, .shift = 3, .carries = {33, 8}};
  ASSERT_EQ(c.counts.size(), kMaxGathered);
  ASSERT_EQ(c.counts.size() * c.carries.size(), kMaxCarries);
  for (const int64_t bytes : {4, 3072, 16385}) {
    c.rows_on_host = false;
    Check(bytes, c);
    c.rows_on_host = true;
    Check(bytes, c);
  }
  Check(64, {.counts = {1}, .carries = std::vector<size_t>(kMaxCarries, 3)});
  Check(64, {.counts = {0, 0}});
}

}  // namespace
}  // namespace penstock
