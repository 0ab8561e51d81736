#include "penstock/stages/pin/pin_stage.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

HostMemory Memory(Pin::Mode mode) {
  Pin options;
  options.set_mode(mode);
  BatchSettings settings;
  EXPECT_TRUE(PinStage().Apply(options, settings).ok());
  return settings.memory;
}

TEST(PinStage, SettlesTheMemoryOfSlabs) {
  EXPECT_EQ(Memory(Pin::MODE_UNSPECIFIED), HostMemory::kPinned);
  EXPECT_EQ(Memory(Pin::PINNED), HostMemory::kPinned);
  EXPECT_EQ(Memory(Pin::PAGEABLE), HostMemory::kPageable);
}

TEST(PinStage, RefusesAnUnknownMode) {
  Pin options;
  options.set_mode(static_cast<Pin::Mode>(3));
  BatchSettings settings;
  EXPECT_EQ(PinStage().Apply(options, settings),
            absl::InvalidArgumentError("mode is 3, expected PINNED or PAGEABLE"));
}

}  // namespace
}  // namespace penstock
