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

}  // namespace
}  // namespace penstock
