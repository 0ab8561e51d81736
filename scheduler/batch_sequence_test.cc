// BatchSequence: which samples make which batch of which device, in numbers worked out by hand.
#include "penstock/scheduler/batch_sequence.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using Kind = NextItem::Kind;
using testing::ElementsAre;

// Only counts.
template <class Base>
class Counted : public TypedSource<google::protobuf::Empty, Base> {
 public:
  absl::Status Init() override { return absl::OkStatus(); }
  SampleSpec fields() const override { return {}; }
  std::string key(int64_t id) const override { return absl::StrCat(id); }
  Extent Locate(int64_t) const override { return {}; }
  absl::Status Finish(absl::Span<const std::byte>, Sample&, SampleContext&) const override {
    return absl::OkStatus();
  }
};

struct FixedSource final : Counted<Source> {
  explicit FixedSource(int64_t samples) : samples(samples) {}
  std::optional<int64_t> size() const override { return samples; }
  const int64_t samples;
};

struct PushedSource final : Counted<UnboundedSource> {
  int64_t arrived() const override { return count; }
  bool closed() const override { return is_closed; }
  void Close() override { is_closed = true; }
  void SetListener(std::function<void()>) override {}
  int64_t count = 0;
  bool is_closed = false;
};

ExecutionPlan Plan(int64_t samples, int64_t batch, Tail tail = Tail::kPartial) {
  ExecutionPlan plan;
  plan.source = std::make_shared<FixedSource>(samples);
  plan.batch_size = batch;
  plan.tail = tail;
  return plan;
}

// "3: e0 [12, 16)", "end of epoch", "end", "nothing".
std::string Text(const NextItem& item) {
  switch (item.kind) {
    case Kind::kEpochEnd:
      return "end of epoch";
    case Kind::kRunEnd:
      return "end";
    case Kind::kNothingYet:
      return "nothing";
    case Kind::kBatch:
      break;
  }
  const BatchSpec& batch = item.batch;
  return absl::StrCat(batch.sequence, ": e", batch.epoch, " [", batch.positions.begin, ", ",
                      batch.positions.end, ")");
}

std::vector<std::string> Take(BatchSequence& sequence, int items) {
  std::vector<std::string> texts;
  for (int i = 0; i < items; ++i) texts.push_back(Text(sequence.Next()));
  return texts;
}

// Of the plan's device, all batches of the epoch that comes next.
std::vector<BatchSpec> Epoch(BatchSequence& sequence) {
  std::vector<BatchSpec> batches;
  for (NextItem item = sequence.Next(); item.kind == Kind::kBatch; item = sequence.Next()) {
    batches.push_back(item.batch);
  }
  return batches;
}

TEST(BatchSequenceTest, OneDeviceGetsAllBatches) {
  const ExecutionPlan plan = Plan(10, 4);
  BatchSequence sequence = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(sequence, 6), ElementsAre("0: e0 [0, 4)", "1: e0 [4, 8)", "2: e0 [8, 10)",
                                             "end of epoch", "end", "end"));
  EXPECT_EQ(sequence.batches_per_epoch(), 3);
  EXPECT_EQ(sequence.samples_per_epoch(), 10);
}

TEST(BatchSequenceTest, DropLeavesTheRestOut) {
  const ExecutionPlan plan = Plan(11, 4, Tail::kDrop);
  BatchSequence sequence = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(sequence, 4),
              ElementsAre("0: e0 [0, 4)", "1: e0 [4, 8)", "end of epoch", "end"));
  EXPECT_EQ(sequence.batches_per_epoch(), 2);
  EXPECT_EQ(sequence.samples_per_epoch(), 8);
}

// Numbers count the batches of all devices; each epoch begins with device 0.
TEST(BatchSequenceTest, DevicesTakeTurns) {
  ExecutionPlan plan = Plan(10, 4);
  plan.devices = 2;
  plan.epochs = 2;
  BatchSequence first = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(first, 7), ElementsAre("0: e0 [0, 4)", "2: e0 [8, 10)", "end of epoch",
                                          "3: e1 [0, 4)", "5: e1 [8, 10)", "end of epoch", "end"));
  EXPECT_EQ(first.batches_per_epoch(), 2);
  EXPECT_EQ(first.samples_per_epoch(), 6);
  plan.device = 1;
  BatchSequence second = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(second, 5),
              ElementsAre("1: e0 [4, 8)", "end of epoch", "4: e1 [4, 8)", "end of epoch", "end"));
  EXPECT_EQ(second.batches_per_epoch(), 1);
  EXPECT_EQ(second.samples_per_epoch(), 4);
}

TEST(BatchSequenceTest, MoreDevicesThanBatches) {
  ExecutionPlan plan = Plan(5, 4);
  plan.devices = 3;
  plan.device = 2;
  plan.epochs = 2;
  BatchSequence sequence = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(sequence, 3), ElementsAre("end of epoch", "end of epoch", "end"));
  EXPECT_EQ(sequence.batches_per_epoch(), 0);
  EXPECT_EQ(sequence.samples_per_epoch(), 0);
}

// Whatever the division, an epoch is divided without gaps and without doubles, and each share is
// what was announced.
TEST(BatchSequenceTest, AllDevicesOfAllRanksTogetherAreTheEpoch) {
  for (const Tail tail : {Tail::kPartial, Tail::kDrop}) {
    for (int64_t samples = 12; samples <= 40; ++samples) {
      for (int64_t devices = 1; devices <= 3; ++devices) {
        for (int64_t world = 1; world <= 3; ++world) {
          std::vector<int> seen(samples);
          ExecutionPlan plan = Plan(samples, 4, tail);
          plan.devices = devices;
          plan.world = world;
          for (plan.rank = 0; plan.rank < world; ++plan.rank) {
            for (plan.device = 0; plan.device < devices; ++plan.device) {
              BatchSequence sequence = BatchSequence::Create(plan).value();
              int64_t batches = 0, rows = 0;
              for (const BatchSpec& batch : Epoch(sequence)) {
                EXPECT_EQ(batch.sequence, plan.device + devices * batches++);
                rows += batch.count();
                for (int64_t p = batch.positions.begin; p < batch.positions.end; ++p) ++seen[p];
              }
              EXPECT_EQ(sequence.batches_per_epoch(), batches);
              EXPECT_EQ(sequence.samples_per_epoch(), rows);
            }
          }
          const int64_t used = tail == Tail::kDrop ? samples / (4 * world) * 4 * world : samples;
          std::vector<int> expected(samples, 0);
          std::fill_n(expected.begin(), used, 1);
          EXPECT_EQ(seen, expected) << samples << " samples, " << devices << " devices, " << world;
        }
      }
    }
  }
}

TEST(BatchSequenceTest, EpochsAreNumberedFromTheFirst) {
  ExecutionPlan plan = Plan(6, 4);
  plan.first_epoch = 5;
  plan.epochs = 2;
  BatchSequence sequence = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(sequence, 7),
              ElementsAre("10: e5 [0, 4)", "11: e5 [4, 6)", "end of epoch", "12: e6 [0, 4)",
                          "13: e6 [4, 6)", "end of epoch", "end"));
}

// From any place to any epoch, also after the end; the same batches as ever.
TEST(BatchSequenceTest, StartEpochJumps) {
  ExecutionPlan plan = Plan(6, 4);
  plan.epochs = 3;
  BatchSequence sequence = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(sequence, 1), ElementsAre("0: e0 [0, 4)"));
  sequence.StartEpoch(2);
  EXPECT_THAT(Take(sequence, 4),
              ElementsAre("4: e2 [0, 4)", "5: e2 [4, 6)", "end of epoch", "end"));
  sequence.StartEpoch(1);
  EXPECT_THAT(Take(sequence, 2), ElementsAre("2: e1 [0, 4)", "3: e1 [4, 6)"));
  sequence.StartEpoch(1);
  EXPECT_THAT(Take(sequence, 1), ElementsAre("2: e1 [0, 4)"));
  sequence.StartEpoch(3);
  EXPECT_THAT(Take(sequence, 1), ElementsAre("end"));
}

TEST(BatchSequenceTest, ForeverHasNoEnd) {
  ExecutionPlan plan = Plan(3, 4);
  plan.epochs = kForever;
  plan.first_epoch = int64_t{1} << 40;
  BatchSequence sequence = BatchSequence::Create(plan).value();
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(Text(sequence.Next()),
              absl::StrCat(plan.first_epoch + i, ": e", plan.first_epoch + i, " [0, 3)"));
    EXPECT_EQ(Text(sequence.Next()), "end of epoch");
  }
}

TEST(BatchSequenceTest, WithoutSamplesEpochsAreEmptyAndForeverIsOne) {
  ExecutionPlan plan = Plan(0, 4);
  plan.epochs = 2;
  BatchSequence two = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(two, 4), ElementsAre("end of epoch", "end of epoch", "end", "end"));
  plan.epochs = kForever;
  plan.shuffle = true;
  BatchSequence forever = BatchSequence::Create(plan).value();
  EXPECT_THAT(Take(forever, 3), ElementsAre("end of epoch", "end", "end"));
  forever.StartEpoch(7);
  EXPECT_THAT(Take(forever, 2), ElementsAre("end of epoch", "end"));
}

// The permutation itself is held against another implementation in permutation_test.
TEST(BatchSequenceTest, ShuffledIdsAreThePermutations) {
  constexpr int64_t kSamples = 1001;
  ExecutionPlan plan = Plan(kSamples, 64);
  plan.shuffle = true;
  plan.seed = 9;
  plan.first_epoch = 3;
  plan.epochs = 2;
  plan.devices = 2;
  std::vector<std::vector<int64_t>> epochs;
  for (const int64_t epoch : {3, 4}) {
    const Permutation order(kSamples, 9, static_cast<uint64_t>(epoch));
    std::vector<int64_t> all(kSamples, -1);
    for (plan.device = 0; plan.device < 2; ++plan.device) {
      BatchSequence sequence = BatchSequence::Create(plan).value();
      if (epoch == 4) (void)Epoch(sequence);
      for (const BatchSpec& batch : Epoch(sequence)) {
        ASSERT_EQ(batch.epoch, epoch);
        std::vector<int64_t> ids(batch.count());
        batch.Ids(0, absl::MakeSpan(ids));
        for (int64_t i = 0; i < batch.count(); ++i) {
          EXPECT_EQ(ids[i], order(batch.positions.begin + i));
          all[batch.positions.begin + i] = ids[i];
        }
        // In parts, as tasks ask.
        std::vector<int64_t> part(batch.count() / 2);
        batch.Ids(batch.count() - static_cast<int64_t>(part.size()), absl::MakeSpan(part));
        EXPECT_TRUE(std::equal(part.rbegin(), part.rend(), ids.rbegin()));
      }
    }
    epochs.push_back(all);
    std::sort(all.begin(), all.end());
    std::vector<int64_t> everything(kSamples);
    std::iota(everything.begin(), everything.end(), 0);
    EXPECT_EQ(all, everything);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(BatchSequenceTest, WithoutShuffleIdsArePositions) {
  const ExecutionPlan plan = Plan(10, 4);
  BatchSequence sequence = BatchSequence::Create(plan).value();
  (void)sequence.Next();
  const BatchSpec batch = sequence.Next().batch;
  std::vector<int64_t> ids(3);
  batch.Ids(1, absl::MakeSpan(ids));
  EXPECT_THAT(ids, ElementsAre(5, 6, 7));
}

// Batches that were handed out before a jump keep their own epoch's order.
TEST(BatchSequenceTest, ABatchKeepsItsOrder) {
  ExecutionPlan plan = Plan(100, 100);
  plan.shuffle = true;
  plan.epochs = 10;
  BatchSequence sequence = BatchSequence::Create(plan).value();
  const BatchSpec batch = sequence.Next().batch;
  std::vector<int64_t> before(100), after(100), other(100);
  batch.Ids(0, absl::MakeSpan(before));
  sequence.StartEpoch(7);
  batch.Ids(0, absl::MakeSpan(after));
  EXPECT_EQ(before, after);
  sequence.Next().batch.Ids(0, absl::MakeSpan(other));
  EXPECT_NE(before, other);
}

TEST(BatchSequenceTest, GoesOnWithAPlanThatMoved) {
  auto plan = std::make_unique<ExecutionPlan>(Plan(6, 4));
  BatchSequence sequence = BatchSequence::Create(*plan).value();
  EXPECT_THAT(Take(sequence, 1), ElementsAre("0: e0 [0, 4)"));
  const ExecutionPlan moved = std::move(*plan);
  plan.reset();
  sequence.Rebind(moved);
  EXPECT_THAT(Take(sequence, 3), ElementsAre("1: e0 [4, 6)", "end of epoch", "end"));
}

TEST(BatchSequenceTest, RefusesWhatDoesNotDivide) {
  EXPECT_EQ(BatchSequence::Create(Plan(3, 4, Tail::kDrop)).status().code(),
            absl::StatusCode::kInvalidArgument);
  ExecutionPlan plan = Plan(3, 4);
  plan.world = 4;
  EXPECT_EQ(BatchSequence::Create(plan).status().code(), absl::StatusCode::kInvalidArgument);
}

class UnboundedSequenceTest : public testing::Test {
 protected:
  UnboundedSequenceTest() {
    plan_.source = source_;
    plan_.batch_size = 4;
  }
  const std::shared_ptr<PushedSource> source_ = std::make_shared<PushedSource>();
  ExecutionPlan plan_;
};

TEST_F(UnboundedSequenceTest, BatchesAreMadeAsSamplesArrive) {
  BatchSequence sequence = BatchSequence::Create(plan_).value();
  EXPECT_EQ(sequence.batches_per_epoch(), 0);
  EXPECT_EQ(sequence.samples_per_epoch(), 0);
  EXPECT_THAT(Take(sequence, 1), ElementsAre("nothing"));
  source_->count = 3;
  EXPECT_THAT(Take(sequence, 1), ElementsAre("nothing"));
  source_->count = 9;
  EXPECT_THAT(Take(sequence, 3), ElementsAre("0: e0 [0, 4)", "1: e0 [4, 8)", "nothing"));
  source_->count = 12;
  EXPECT_THAT(Take(sequence, 2), ElementsAre("2: e0 [8, 12)", "nothing"));
  source_->count = 18;
  source_->Close();
  EXPECT_THAT(Take(sequence, 5),
              ElementsAre("3: e0 [12, 16)", "4: e0 [16, 18)", "end of epoch", "end", "end"));
}

TEST_F(UnboundedSequenceTest, DropLeavesTheRestOut) {
  plan_.tail = Tail::kDrop;
  BatchSequence sequence = BatchSequence::Create(plan_).value();
  source_->count = 7;
  source_->Close();
  EXPECT_THAT(Take(sequence, 3), ElementsAre("0: e0 [0, 4)", "end of epoch", "end"));
}

TEST_F(UnboundedSequenceTest, ClosedWithoutSamplesItEnds) {
  BatchSequence sequence = BatchSequence::Create(plan_).value();
  source_->Close();
  EXPECT_THAT(Take(sequence, 2), ElementsAre("end of epoch", "end"));
}

}  // namespace
}  // namespace penstock
