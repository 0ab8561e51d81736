#include "penstock/memory/stream.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace penstock {
namespace {

// The literals would hide which stream is meant.
static_assert(!std::is_constructible_v<StreamRef, int>);
static_assert(!std::is_constructible_v<StreamRef, std::nullptr_t>);
static_assert(std::is_convertible_v<CUstream_st*, StreamRef>);
static_assert(std::is_trivially_copyable_v<StreamRef>);

TEST(StreamRef, KnowsTheDefaultStreams) {
  EXPECT_TRUE(StreamRef::LegacyDefault().is_default());
  EXPECT_TRUE(StreamRef::PerThreadDefault().is_default());
  EXPECT_NE(StreamRef::LegacyDefault(), StreamRef::PerThreadDefault());
  CUstream_st* const null_variable = nullptr;
  EXPECT_TRUE(StreamRef(null_variable).is_default());
}

TEST(StreamRef, KnowsOtherStreams) {
  int object = 0;
  const StreamRef cuda(reinterpret_cast<CUstream_st*>(&object));
  EXPECT_FALSE(cuda.is_default());
  EXPECT_EQ(cuda.kind(), DeviceKind::kCuda);
  EXPECT_EQ(cuda.handle(), &object);
  const StreamRef sim(DeviceKind::kSim, &object);
  EXPECT_FALSE(sim.is_default());
  EXPECT_NE(sim, cuda);
  EXPECT_FALSE(StreamRef(DeviceKind::kSim, nullptr).is_default());
}

}  // namespace
}  // namespace penstock
