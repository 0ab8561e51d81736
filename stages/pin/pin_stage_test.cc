#include "penstock/stages/pin/pin_stage.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

BatchSettings Settled(Pin::Mode mode) {
  Pin options;
  options.set_mode(mode);
  BatchSettings settings;
  EXPECT_TRUE(PinStage().Apply(options, settings).ok());
  return settings;
}

TEST(PinStage, SettlesTheMemoryOfSlabs) {
  EXPECT_EQ(Settled(Pin::MODE_UNSPECIFIED).memory, HostMemory::kPinned);
  EXPECT_EQ(Settled(Pin::PINNED).memory, HostMemory::kPinned);
  EXPECT_EQ(Settled(Pin::PAGEABLE).memory, HostMemory::kPageable);
  EXPECT_EQ(Settled(Pin::AUTO).memory, HostMemory::kPinned);
  for (const Pin::Mode strict : {Pin::MODE_UNSPECIFIED, Pin::PINNED, Pin::PAGEABLE}) {
    EXPECT_FALSE(Settled(strict).or_pageable);
  }
  EXPECT_TRUE(Settled(Pin::AUTO).or_pageable);
}

TEST(PinStage, RefusesAnUnknownMode) {
  Pin options;
  options.set_mode(static_cast<Pin::Mode>(4));
  BatchSettings settings;
  EXPECT_EQ(PinStage().Apply(options, settings),
            absl::InvalidArgumentError("mode is 4, expected PINNED, PAGEABLE or AUTO"));
}

}  // namespace
}  // namespace penstock
