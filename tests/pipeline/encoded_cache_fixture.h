// What the tests of a Cache of encoded samples share: files of one size, and a graph over them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {

// A file takes 8 + 9 * 10 * 3 bytes, and two more up to a multiple of 16.
inline constexpr int kImages = 21, kHeight = 9, kWidth = 10, kFileBytes = 278, kPlaceBytes = 288;
inline constexpr int kBatch = 4, kEpochs = 4;
// Arenas as small as they get: the simulated device fills its memory when it gives it out.
inline constexpr int64_t kDeviceBytes = 40 << 20;

class EncodedCacheFixture : public ::testing::Test {
 protected:
  EncodedCacheFixture() : root_(NewTestFolder("cache")), registry_(MakeTestRegistry()) {
    for (int i = 0; i < kImages; ++i) Write(i, kFakeGood);
    options_.registry = &registry_;
    options_.epochs = kEpochs;
    options_.max_device_bytes = kDeviceBytes;
  }
  void Write(int i, FakeKind kind) const {
    WriteFile(absl::StrCat(root_, "/", i, ".fake"), EncodeFake({kind, kHeight, kWidth, i}));
  }
  // `cache`: options of a Cache; "": none.
  std::string Text(const std::string& cache, const std::string& decode = "device: DEVICE") const {
    const std::string node =
        cache.empty() ? ""
                      : absl::StrCat("node { stage { [type.googleapis.com/penstock.Cache] { ",
                                     cache, " } } }");
    return FakeGraphText(
        {.root = root_, .count = kImages, .seats = 2, .decode = decode, .cache = node});
  }

  std::string root_;
  Registry registry_;
  PipelineOptions options_;
};

}  // namespace penstock::testing
