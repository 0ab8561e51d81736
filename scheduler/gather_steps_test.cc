// GatherSteps over stages that fail: which sample is blamed.
#include "penstock/scheduler/gather_steps.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

constexpr uint64_t kSeed = 11, kEpoch = 3;

// Nothing of it is kept, and nothing read.
class NoSource final : public TypedSource<google::protobuf::Empty> {
 public:
  absl::Status Init() override { return absl::OkStatus(); }
  std::optional<int64_t> size() const override { return 1000; }
  SampleSpec fields() const override { return {}; }
  std::string key(int64_t id) const override { return absl::StrCat("key", id); }
  Extent Locate(int64_t) const override { return {}; }
  absl::Status Finish(absl::Span<const std::byte>, Sample&, SampleContext&) const override {
    return absl::OkStatus();
  }
};

struct DrawnBits {
  uint32_t bits = 0;
};

// Fails for the samples that draw one of `faults`.
class FailsForDraws final : public RandomFieldStage<google::protobuf::Empty, DrawnBits> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  absl::StatusOr<DrawnBits> Resolve(ImageSize&, Random& random) const override {
    const uint32_t bits = random.Bits();
    for (const uint32_t fault : faults) {
      if (bits == fault) return absl::OutOfRangeError("a bad draw");
    }
    return DrawnBits{bits};
  }
  absl::Status Process(const DrawnBits&, const FieldView&, const FieldView&,
                       SampleContext&) const override {
    return absl::OkStatus();
  }
  std::vector<uint32_t> faults;
};

class GatherStepsTest : public testing::Test {
 protected:
  static constexpr int kRows = 200;

  GatherStepsTest() {
    plan_.source = std::make_shared<NoSource>();
    plan_.seed = kSeed;
    plan_.layout.batch = kRows;
    plan_.cache.pitch = 1;
    for (size_t i = 0; i < 2; ++i) {
      stages_.push_back(std::make_shared<FailsForDraws>());
      plan_.chain.links.push_back({Node(i), stages_[i], RandomKey(Node(i)), {}});
      plan_.params.push_back(kNoTable);
    }
    work_.Start({.sequence = 7, .epoch = kEpoch, .positions = {0, kRows}, .order = {}});
    for (int row = 0; row < kRows; ++row) work_.ids[row] = Id(row);
  }

  static std::string Node(size_t link) { return absl::StrCat("random", link); }
  static int64_t Id(int row) { return 999 - row; }
  void FailIn(size_t link, int row) {
    Random random({kSeed, kEpoch, static_cast<uint64_t>(Id(row))}, RandomKey(Node(link)));
    stages_[link]->faults.push_back(random.Bits());
  }
  // The failure, of rows [begin, kRows).
  absl::Status Fill(int begin) {
    const std::shared_ptr<Device> device = SimDevice::Create({.gb_per_s = 0});
    const std::shared_ptr<IoPool> io = IoPool::Create(1).value();
    RunCounters counters;
    const auto cache = RowCache::Fill(plan_, device, *io, counters).value();
    const SlabTables tables(plan_);
    tables.Start(work_);
    GatherSteps(*device, plan_, tables, *cache).Fill(work_, begin, kRows);
    return work_.failure();
  }

  std::vector<std::shared_ptr<FailsForDraws>> stages_;
  ExecutionPlan plan_;
  BatchWork work_;
};

TEST_F(GatherStepsTest, TheFirstBadSampleIsBlamed) {
  FailIn(0, 150);
  FailIn(0, 140);
  EXPECT_EQ(Fill(100),
            absl::OutOfRangeError("node 'random0', batch 7, sample 'key859': a bad draw"));
}

TEST_F(GatherStepsTest, AlsoWhereItsStageComesLater) {
  FailIn(0, 140);
  FailIn(1, 130);
  FailIn(1, 145);
  EXPECT_EQ(Fill(100),
            absl::OutOfRangeError("node 'random1', batch 7, sample 'key869': a bad draw"));
}

}  // namespace
}  // namespace penstock
