// SimGather: host bodies as a gather form. What is expected is worked out by hand.
#include "penstock/stages/sim_gather.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <latch>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/fake_stages.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

struct Shift {
  uint32_t by;
};

// Adds what its Params say to each item.
class FakeShift final : public FieldStage<google::protobuf::UInt64Value, Shift> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  absl::Status Process(const Shift& params, const FieldView& in, const FieldView& out,
                       SampleContext&) const override {
    for (int64_t i = 0; i < out.bytes; ++i) {
      out.data<uint8_t>()[i] = static_cast<uint8_t>(in.data<uint8_t>()[i] + params.by);
    }
    return absl::OkStatus();
  }
};

// Of FakeTurn and FakeShift, in that order, as their tables would hold them.
struct alignas(16) RowParams {
  FakeSize turn;
  uint64_t unused = 0;
  Shift shift;
};
constexpr size_t kOffsets[] = {offsetof(RowParams, turn), offsetof(RowParams, shift)};

template <class Stage, class Value>
void Init(Stage& stage, const Value& value) {
  typename Stage::Options options;
  options.set_value(value);
  ASSERT_TRUE(static_cast<SampleStage&>(stage).Init(options).ok());
}

std::byte* Data(Bytes& bytes) { return reinterpret_cast<std::byte*>(bytes.data()); }
uint64_t Address(const Bytes& bytes) { return reinterpret_cast<uint64_t>(bytes.data()); }

Bytes Counting(size_t count, int first) {
  Bytes bytes(count);
  std::iota(bytes.begin(), bytes.end(), static_cast<uint8_t>(first));
  return bytes;
}

class SimGatherTest : public testing::Test {
 protected:
  // The entries of rows at `addresses`.
  static std::vector<std::byte> Pack(const GatherStage& stage,
                                     const std::vector<uint64_t>& addresses,
                                     const ParamRows& params = {}) {
    std::vector<std::byte> entries(addresses.size() * stage.entry_bytes());
    stage.Pack(addresses, params, entries.data());
    return entries;
  }
  absl::Status Enqueue(const GatherStage& stage, const std::vector<GatherBatch>& batches) {
    return stage.Enqueue({.device = *device_, .stream = stream_->ref(), .batches = batches});
  }
  absl::Status Synchronize() { return device_->Synchronize(stream_->ref()); }

  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
  std::unique_ptr<Stream> stream_ = device_->CreateStream().value();
};

// Two rows of 2 x 2 pixels that lie anywhere are turned upside down and shifted, each by its own.
TEST_F(SimGatherTest, RunsTheChainWithEachRowsParams) {
  FakeTurn turn;
  FakeShift shift;
  SimGather<FakeTurn, FakeShift> gather(turn, shift);
  EXPECT_EQ(gather.entry_bytes(), 48u);  // The address, and the Params of each stage, padded.
  const FieldSpec image = FieldSpec::Image("image", {2, 2}, 1);
  ASSERT_TRUE(gather.Prepare({image, image, image}).ok());
  const Bytes first = {1, 2, 3, 4}, second = {0, 11, 12, 13, 14};
  const RowParams params[] = {{.turn = {{2, 2}}, .shift = {100}},
                              {.turn = {{2, 2}}, .shift = {50}}};
  const auto entries =
      Pack(gather, {Address(second) + 1, Address(first)},
           {reinterpret_cast<const std::byte*>(params), sizeof(RowParams), kOffsets});
  Bytes out(10, 0xAB);
  ASSERT_TRUE(
      Enqueue(gather, {{.entries = entries.data(), .count = 2, .out = Data(out), .carries = {}}})
          .ok());
  ASSERT_TRUE(Synchronize().ok());
  EXPECT_EQ(out, (Bytes{113, 114, 111, 112, 53, 54, 51, 52, 0xAB, 0xAB}));
}

// Sizes change on the way: 4 x 3 pixels become 2 x 1, the middle ones, upside down.
TEST_F(SimGatherTest, GivesEachStageItsBoundarysSize) {
  FakeAdd add;
  FakeTurn turn;
  FakeTrim trim;
  Init(add, 7);
  Init(trim, 1U);
  SimGather<FakeAdd, FakeTurn, FakeTrim> gather(add, turn, trim);
  EXPECT_EQ(gather.entry_bytes(), 32u);  // Only FakeTurn has Params.
  const FieldSpec image = FieldSpec::Image("image", {4, 3}, 1);
  ASSERT_TRUE(gather.Prepare({image, image, image, FieldSpec::Image("image", {2, 1}, 1)}).ok());
  const RowParams params = {.turn = {{4, 3}}, .shift = {}};
  constexpr size_t kFirst[] = {0, 0, 0};
  const Bytes first = Counting(12, 0), second = Counting(12, 100);
  const auto entries = Pack(gather, {Address(first), Address(second)},
                            {reinterpret_cast<const std::byte*>(&params), 0, kFirst});
  Bytes out(5, 0xAB);
  ASSERT_TRUE(
      Enqueue(gather, {{.entries = entries.data(), .count = 2, .out = Data(out), .carries = {}}})
          .ok());
  ASSERT_TRUE(Synchronize().ok());
  EXPECT_EQ(out, (Bytes{7 + 7, 4 + 7, 107 + 7, 104 + 7, 0xAB}));
}

TEST_F(SimGatherTest, WithoutStagesRowsStayAsTheyAre) {
  SimGather<> gather;
  EXPECT_EQ(gather.entry_bytes(), 16u);
  const FieldSpec row = {.name = "row", .dtype = kUint8, .shape = {3}};
  ASSERT_TRUE(gather.Prepare({row}).ok());
  const Bytes in = Counting(12, 0);
  const auto entries = Pack(gather, {Address(in) + 7, Address(in), Address(in) + 7});
  Bytes out(10, 0xAB);
  ASSERT_TRUE(
      Enqueue(gather, {{.entries = entries.data(), .count = 3, .out = Data(out), .carries = {}}})
          .ok());
  ASSERT_TRUE(Synchronize().ok());
  EXPECT_EQ(out, (Bytes{7, 8, 9, 0, 1, 2, 7, 8, 9, 0xAB}));
}

// As many batches as a launch can take, of 0 to 7 rows, and all its carries. The lists are gone by
// the time that the device comes to it.
TEST_F(SimGatherTest, TakesSeveralBatchesInOneCall) {
  SimGather<> gather;
  const FieldSpec row = {.name = "row", .dtype = kUint8, .shape = {2}};
  ASSERT_TRUE(gather.Prepare({row}).ok());
  const Bytes in = Counting(64, 0), labels = Counting(64, 100);
  std::vector<std::vector<std::byte>> entries;
  std::vector<Bytes> out, carried;
  std::latch gate(1);
  ASSERT_TRUE(device_->Launch(stream_->ref(), [&gate] { gate.wait(); }).ok());
  {
    std::vector<GatherBatch> batches;
    std::vector<std::vector<Carry>> carries;
    for (size_t b = 0; b < kMaxGathered; ++b) {
      std::vector<uint64_t> addresses;
      for (size_t i = 0; i < b; ++i) addresses.push_back(Address(in) + 8 * b - i);
      entries.push_back(Pack(gather, addresses));
      out.emplace_back(2 * b + 1, 0xAB);
      for (size_t i = 0; i < kMaxCarries / kMaxGathered; ++i) carried.emplace_back(b + i + 1, 0xAB);
    }
    for (size_t b = 0; b < kMaxGathered; ++b) {
      std::vector<Carry>& list = carries.emplace_back();
      for (size_t i = 0; i < kMaxCarries / kMaxGathered; ++i) {
        Bytes& to = carried[carries.size() * 2 - 2 + i];
        list.push_back({Data(to), reinterpret_cast<const std::byte*>(&labels[3 * b]), b + i});
      }
      batches.push_back({.entries = entries[b].data(),
                         .count = static_cast<int32_t>(b),
                         .out = Data(out[b]),
                         .carries = list});
    }
    ASSERT_TRUE(Enqueue(gather, batches).ok());
    for (auto& list : carries) list.assign(list.size(), Carry{});
    for (GatherBatch& batch : batches) batch = {};
  }
  gate.count_down();
  ASSERT_TRUE(Synchronize().ok());
  for (size_t b = 0; b < kMaxGathered; ++b) {
    Bytes expected;
    for (size_t i = 0; i < b; ++i) {
      const auto value = static_cast<uint8_t>(8 * b - i);
      expected.insert(expected.end(), {value, static_cast<uint8_t>(value + 1)});
    }
    expected.push_back(0xAB);
    EXPECT_EQ(out[b], expected) << b;
    for (size_t i = 0; i < 2; ++i) {
      Bytes label = Counting(b + i, static_cast<int>(100 + 3 * b));
      label.push_back(0xAB);
      EXPECT_EQ(carried[2 * b + i], label) << b << " " << i;
    }
  }
}

TEST_F(SimGatherTest, ABatchWithoutRowsStillCarries) {
  SimGather<> gather;
  const FieldSpec row = {.name = "row", .dtype = kUint8, .shape = {2}};
  ASSERT_TRUE(gather.Prepare({row}).ok());
  Bytes from = {1, 2}, to(3, 0xAB), out(2, 0xAB);
  const Carry carries[] = {{Data(to), Data(from), 2}};
  ASSERT_TRUE(
      Enqueue(gather, {{.entries = nullptr, .count = 0, .out = Data(out), .carries = carries}})
          .ok());
  ASSERT_TRUE(Synchronize().ok());
  EXPECT_EQ(to, (Bytes{1, 2, 0xAB}));
  EXPECT_EQ(out, Bytes(2, 0xAB));
}

// The device has then failed for good; nothing behind the faulty row is done.
TEST_F(SimGatherTest, AFailingBodyIsAFailingDevice) {
  FakeShift shift;
  FakeFault fault;
  Init(fault, std::string("bad row"));
  SimGather<FakeShift, FakeFault> gather(shift, fault);
  const FieldSpec row = FieldSpec::Image("image", {1, 2}, 1);
  ASSERT_TRUE(gather.Prepare({row, row, row}).ok());
  const Shift by = {1};
  constexpr size_t kNoOffsets[] = {0, 0};
  Bytes in(16, 1), from = {1, 2}, to(2, 0xAB), out(4, 0xAB);
  alignas(16) std::byte params[16] = {};
  std::memcpy(params, &by, sizeof by);
  const auto entries = Pack(gather, {Address(in)}, {params, 0, kNoOffsets});
  const Carry carries[] = {{Data(to), Data(from), 2}};
  const GatherBatch batch = {
      .entries = entries.data(), .count = 1, .out = Data(out), .carries = carries};
  EXPECT_TRUE(Enqueue(gather, {batch, batch}).ok());
  EXPECT_EQ(Synchronize(), absl::DataLossError("bad row"));
  EXPECT_EQ(device_->status(), absl::DataLossError("bad row"));
  EXPECT_EQ(Enqueue(gather, {batch}), absl::DataLossError("bad row"));
  EXPECT_EQ(to, Bytes(2, 0xAB));
  EXPECT_EQ(out, Bytes(4, 0xAB));
}

TEST_F(SimGatherTest, IsFoundByItsSequence) {
  Registry registry;
  registry.Add<SimGather<>>();
  registry.Add<SimGather<FakeAdd, FakeTrim>>();
  ASSERT_TRUE(registry.status().ok()) << registry.status();
  const std::string add = "google.protobuf.Int32Value", trim = "google.protobuf.UInt32Value";
  EXPECT_NE(registry.FindGatherForm(DeviceKind::kSim, {}), nullptr);
  EXPECT_NE(registry.FindGatherForm(DeviceKind::kSim, {add, trim}), nullptr);
  EXPECT_EQ(registry.FindGatherForm(DeviceKind::kSim, {trim, add}), nullptr);
  EXPECT_EQ(registry.FindGatherForm(DeviceKind::kSim, {add}), nullptr);
  EXPECT_EQ(registry.FindGatherForm(DeviceKind::kCuda, {add, trim}), nullptr);
  registry.Add<SimGather<>>();
  EXPECT_FALSE(registry.status().ok());
}

}  // namespace
}  // namespace penstock
