#include "penstock/memory/slab.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(SlabLayout, PutsPartsOneBehindTheOther) {
  SlabLayout layout;
  layout.batch = 3;
  EXPECT_EQ(layout.AddTable(8), 0u);
  EXPECT_EQ(layout.AddTable(100), 256u);
  EXPECT_EQ(layout.tables, 256u + 512u);
  layout.encoded = 1000;
  layout.row = 10;
  layout.outputs = 7;
  EXPECT_EQ(layout.encoded_at(), 768u);  // Directly behind the tables: one copy.
  EXPECT_EQ(layout.rows_at(), 1792u);
  EXPECT_EQ(layout.row_bytes(), 30u);
  EXPECT_EQ(layout.host_bytes(), 1822u);  // Exact.
  EXPECT_EQ(layout.outputs_at(), 2048u);
  EXPECT_EQ(layout.device_bytes(), 2055u);
}

TEST(SlabLayout, IsEmptyByDefault) {
  const SlabLayout layout;
  EXPECT_EQ(layout.host_bytes(), 0u);
  EXPECT_EQ(layout.device_bytes(), 0u);
}

TEST(AlignUp, RoundsUp) {
  EXPECT_EQ(AlignUp(0, 256), 0u);
  EXPECT_EQ(AlignUp(1, 256), 256u);
  EXPECT_EQ(AlignUp(256, 256), 256u);
  EXPECT_EQ(AlignUp(257, 256), 512u);
}

}  // namespace
}  // namespace penstock
