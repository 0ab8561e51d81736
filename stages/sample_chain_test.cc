#include "penstock/stages/sample_chain.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/stages/fake_stages.h"

namespace penstock {
namespace {

// A chain over one image, with the memory that a scheduler would give it.
class SampleChainTest : public testing::Test {
 protected:
  template <class Stage>
  void Append(const std::string& node, decltype(typename Stage::Options().value()) value) {
    ChainLink link;
    link.node = node;
    link.random_key = RandomKey(node);
    auto stage = std::make_unique<Stage>();
    typename Stage::Options options;
    options.set_value(value);
    SampleStage& base = *stage;
    ASSERT_TRUE(base.Init(options).ok());
    SampleSpec spec = {{chain_.spec(chain_.links.size())}};
    ASSERT_TRUE(base.Infer(spec).ok());
    link.out = spec.fields[0];
    link.stage = std::move(stage);
    chain_.links.push_back(std::move(link));
    chain_.cut = chain_.links.size();
    params_.push_back(places_.emplace_back().data());
  }

  absl::Status Resolve(DrawKey key = {}) { return chain_.Resolve({6, 8}, key, params_, resolved_); }

  // The row, from exactly the region of the source that was asked for.
  absl::StatusOr<std::vector<uint8_t>> Process() {
    const Region needed = resolved_.region[0];
    std::vector<uint8_t> in(needed.area()), row(resolved_.region[chain_.cut].area());
    for (int y = 0; y < needed.height; ++y) {
      for (int x = 0; x < needed.width; ++x) {
        in[y * needed.width + x] = Pixel(needed.y + y, needed.x + x);
      }
    }
    ChainWorker worker = chain_.MakeWorker();
    absl::Status status = chain_.Process(View(in, needed), resolved_, params_,
                                         View(row, resolved_.region[chain_.cut]), worker);
    scratch_bytes_ = worker.scratch_bytes;
    if (!status.ok()) return status;
    return row;
  }

  static FieldView View(std::vector<uint8_t>& bytes, const Region& region) {
    return {.address = reinterpret_cast<uint64_t>(bytes.data()),
            .bytes = static_cast<int64_t>(bytes.size()),
            .region = region,
            .channels = 1};
  }
  static uint8_t Pixel(int y, int x) { return static_cast<uint8_t>(y * 16 + x); }

  struct alignas(16) Place : std::array<std::byte, kMaxParamsBytes> {};
  SampleChain chain_{.links = {}, .cut = 0, .input = FieldSpec::Image("image", {6, 8}, 1)};
  std::deque<Place> places_;
  std::vector<std::byte*> params_;
  Resolved resolved_;
  int64_t scratch_bytes_ = 0;
};

TEST_F(SampleChainTest, PullsRegionsBackToTheSource) {
  Append<FakeTrim>("a", 1);
  Append<FakeAdd>("b", 5);
  Append<FakeTrim>("c", 1);
  ASSERT_TRUE(Resolve().ok());
  EXPECT_THAT(resolved_.size, testing::ElementsAre(ImageSize{6, 8}, ImageSize{4, 6},
                                                   ImageSize{4, 6}, ImageSize{2, 4}));
  EXPECT_THAT(resolved_.region, testing::ElementsAre(Region{2, 2, 2, 4}, Region{1, 1, 2, 4},
                                                     Region{1, 1, 2, 4}, Region{0, 0, 2, 4}));
  const auto row = Process();
  ASSERT_TRUE(row.ok()) << row.status();
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 4; ++x) EXPECT_EQ((*row)[y * 4 + x], Pixel(y + 2, x + 2) + 5);
  }
  EXPECT_EQ(scratch_bytes_, 16);  // Two regions of 2 x 4 pixels; the third is the row.
}

TEST_F(SampleChainTest, ClipsRegionsToTheImage) {
  Append<FakeReach>("reach", 2);
  Append<FakeTrim>("trim", 1);
  ASSERT_TRUE(Resolve().ok());
  EXPECT_EQ(resolved_.region[1], (Region{1, 1, 4, 6}));
  EXPECT_EQ(resolved_.region[0], (Region{0, 0, 6, 8}));
  EXPECT_TRUE(Process().ok());
}

TEST_F(SampleChainTest, AStageWithoutRegionsWorksOnTheWhole) {
  Append<FakeTrim>("before", 1);
  Append<FakeTurn>("turn", true);
  Append<FakeTrim>("after", 1);
  ASSERT_TRUE(Resolve().ok());
  EXPECT_EQ(resolved_.region[2], (Region{0, 0, 4, 6}));
  EXPECT_EQ(resolved_.region[1], (Region{0, 0, 4, 6}));
  EXPECT_EQ(resolved_.region[0], (Region{1, 1, 4, 6}));
  const auto row = Process();
  ASSERT_TRUE(row.ok()) << row.status();
  for (int x = 0; x < 4; ++x) {
    EXPECT_EQ((*row)[x], Pixel(3, x + 2));
    EXPECT_EQ((*row)[4 + x], Pixel(2, x + 2));
  }
}

TEST_F(SampleChainTest, LeavesIdentitiesOut) {
  Append<FakeAdd>("zero", 0);
  Append<FakeAdd>("one", 1);
  Append<FakeRandom>("random", 0);
  Append<FakeAdd>("two", 2);
  Append<FakeAdd>("nothing", 0);
  ASSERT_TRUE(Resolve().ok());
  FakeAdd::runs = 0;
  const auto row = Process();
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(FakeAdd::runs, 2);
  EXPECT_EQ(scratch_bytes_, 48);  // "two" writes the row, though stages follow it.
  EXPECT_EQ((*row)[17], Pixel(2, 1) + 3);
}

TEST_F(SampleChainTest, TheRowIsOneCopyIfAllAreIdentities) {
  Append<FakeAdd>("a", 0);
  Append<FakeAdd>("b", 0);
  ASSERT_TRUE(Resolve().ok());
  FakeAdd::runs = 0;
  const auto row = Process();
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(FakeAdd::runs, 0);
  EXPECT_EQ(scratch_bytes_, 0);
  for (int i = 0; i < 48; ++i) EXPECT_EQ((*row)[i], Pixel(i / 8, i % 8));
}

TEST_F(SampleChainTest, AnEmptyChainCopiesOrLeavesTheSourcesRow) {
  ASSERT_TRUE(Resolve().ok());
  EXPECT_TRUE(Process().ok());
  std::vector<uint8_t> row(48, 7), small(47);
  ChainWorker worker = chain_.MakeWorker();
  const FieldView in = View(row, {0, 0, 6, 8});
  EXPECT_TRUE(chain_.Process(in, resolved_, {}, in, worker).ok());
  EXPECT_EQ(chain_.Process(in, resolved_, {}, View(small, {0, 0, 6, 8}), worker).code(),
            absl::StatusCode::kInternal);
}

TEST_F(SampleChainTest, StopsAtTheCut) {
  Append<FakeAdd>("host", 1);
  Append<FakeTrim>("device", 1);
  chain_.cut = 1;
  ASSERT_TRUE(Resolve().ok());
  EXPECT_EQ(resolved_.size[2], (ImageSize{4, 6}));
  EXPECT_EQ(resolved_.region[1], (Region{0, 0, 6, 8}));
  const auto row = Process();
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->size(), 48u);
  EXPECT_EQ((*row)[0], 1);
}

TEST_F(SampleChainTest, ErrorsAreTheStagesOwnAndSayWhose) {
  Append<FakeTrim>("trim_1", 1);
  Append<FakeTrim>("trim_2", 2);
  const absl::Status status = Resolve();
  EXPECT_EQ(status, absl::OutOfRangeError("nothing is left"));
  EXPECT_EQ(resolved_.failed, 1u);
}

TEST_F(SampleChainTest, ErrorsOfProcessSayWhoseToo) {
  Append<FakeAdd>("zero", 0);
  Append<FakeAdd>("one", 1);
  Append<FakeFault>("fault", "bad bytes");
  ASSERT_TRUE(Resolve().ok());
  EXPECT_EQ(Process().status(), absl::DataLossError("bad bytes"));
  EXPECT_EQ(resolved_.failed, 2u);
}

TEST_F(SampleChainTest, DrawsDependOnTheNodeAndNotOnOthers) {
  Append<FakeRandom>("flip", 0);
  ASSERT_TRUE(Resolve({1, 2, 3}).ok());
  const auto drawn = [&](size_t link) {
    return reinterpret_cast<const FakeDraw*>(params_[link])->bits;
  };
  const uint32_t alone = drawn(0);
  Random same({1, 2, 3}, RandomKey("flip"));
  EXPECT_EQ(alone, same.Bits());

  chain_.links.clear();
  params_.clear();
  Append<FakeRandom>("crop", 0);
  Append<FakeRandom>("flip", 0);
  ASSERT_TRUE(Resolve({1, 2, 3}).ok());
  EXPECT_EQ(drawn(1), alone);
  EXPECT_NE(drawn(0), alone);
  ASSERT_TRUE(Resolve({1, 2, 4}).ok());
  EXPECT_NE(drawn(1), alone);
}

}  // namespace
}  // namespace penstock
