#include "penstock/stages/cache/cache_stage.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

Cache Options(Cache::Place place, int64_t bytes) {
  Cache options;
  options.set_place(place);
  options.set_bytes(bytes);
  return options;
}

TEST(CacheStage, SettlesPlaceAndBytes) {
  BatchSettings settings;
  ASSERT_TRUE(CacheStage().Apply(Options(Cache::PLACE_UNSPECIFIED, 5), settings).ok());
  EXPECT_EQ(settings.cache_place, CachePlace::kAuto);
  EXPECT_EQ(settings.cache_bytes, 5);
  ASSERT_TRUE(CacheStage().Apply(Options(Cache::AUTO, 1), settings).ok());
  EXPECT_EQ(settings.cache_place, CachePlace::kAuto);
  ASSERT_TRUE(CacheStage().Apply(Options(Cache::HOST, int64_t{1} << 50), settings).ok());
  EXPECT_EQ(settings.cache_place, CachePlace::kHost);
  EXPECT_EQ(settings.cache_bytes, int64_t{1} << 50);
  ASSERT_TRUE(CacheStage().Apply(Options(Cache::PINNED, 1), settings).ok());
  EXPECT_EQ(settings.cache_place, CachePlace::kPinned);
  ASSERT_TRUE(CacheStage().Apply(Options(Cache::DEVICE, 1), settings).ok());
  EXPECT_EQ(settings.cache_place, CachePlace::kDevice);
}

TEST(CacheStage, NamesEveryFault) {
  BatchSettings settings;
  Cache none;
  none.set_place(static_cast<Cache::Place>(9));
  EXPECT_EQ(CacheStage().Apply(none, settings),
            absl::InvalidArgumentError("place is 9, expected AUTO, HOST, PINNED or DEVICE\n"
                                       "bytes: it is required: the memory to spend"));
  EXPECT_EQ(CacheStage().Apply(Options(Cache::AUTO, 0), settings).message(),
            "bytes is 0, expected 1 to 1125899906842624");
  EXPECT_EQ(CacheStage().Apply(Options(Cache::AUTO, (int64_t{1} << 50) + 1), settings).message(),
            "bytes is 1125899906842625, expected 1 to 1125899906842624");
  EXPECT_EQ(settings.cache_bytes, 0);
}

}  // namespace
}  // namespace penstock
