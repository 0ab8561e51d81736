// SimForm: host bodies as a device form.
#include "penstock/stages/device_stage.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/fake_stages.h"

namespace penstock {
namespace {

template <class Stage, class Value>
void Init(Stage& stage, const Value& value) {
  typename Stage::Options options;
  options.set_value(value);
  ASSERT_TRUE(static_cast<SampleStage&>(stage).Init(options).ok());
}

FieldView View(std::vector<uint8_t>& bytes, const Region& region) {
  return {.address = reinterpret_cast<uint64_t>(bytes.data()),
          .bytes = static_cast<int64_t>(bytes.size()),
          .region = region,
          .channels = 1};
}

class SimFormTest : public testing::Test {
 protected:
  void SetUp() override {
    auto stream = device_->CreateStream();
    ASSERT_TRUE(stream.ok());
    stream_ = *std::move(stream);
  }
  absl::Status Run(const DeviceStage& stage, const std::vector<int32_t>& rows,
                   const std::vector<std::vector<FieldView>>& boundaries) {
    std::vector<Table<FieldView>> views;
    for (const auto& boundary : boundaries) views.push_back({boundary.data(), boundary.data()});
    const std::vector<Table<std::byte>> params(boundaries.size() - 1);
    absl::Status status = stage.Enqueue({.device = *device_,
                                         .stream = stream_->ref(),
                                         .rows = {rows.data(), rows.data()},
                                         .count = static_cast<int32_t>(rows.size()),
                                         .views = views,
                                         .params = params,
                                         .descriptors = {},
                                         .status = status_.data(),
                                         .scratch = nullptr});
    if (!status.ok()) return status;
    return device_->Synchronize(stream_->ref());
  }

  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
  std::unique_ptr<Stream> stream_;
  std::vector<int32_t> status_ = {0, 0, 0};
};

// Copies; fails where the first item is 0.
class FailsOnZero final : public FieldStage<google::protobuf::BoolValue> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  absl::Status Process(const NoParams&, const FieldView& in, const FieldView& out,
                       SampleContext&) const override {
    if (in.data<uint8_t>()[0] == 0) return absl::DataLossError("it is 0");
    std::copy_n(in.data<uint8_t>(), in.bytes, out.data<uint8_t>());
    return absl::OkStatus();
  }
};

class ReportingForm final : public SimForm<FailsOnZero> {
 public:
  using SimForm::SimForm;
  bool reports_status() const override { return true; }
};

// Two stages as one step: only the first and the last view have memory.
TEST_F(SimFormTest, RunsASequenceForTheListedRows) {
  FakeTrim trim;
  FakeAdd add;
  Init(trim, 1U);
  Init(add, 7);
  const SimForm<FakeTrim, FakeAdd> form(trim, add);
  std::vector<uint8_t> in[2], out[2];
  std::vector<std::vector<FieldView>> boundaries(3);
  for (int row = 0; row < 2; ++row) {
    in[row].resize(12);
    for (int i = 0; i < 12; ++i) in[row][i] = static_cast<uint8_t>(100 * row + i);
    out[row].resize(2);
    boundaries[0].push_back(View(in[row], {0, 0, 3, 4}));
    boundaries[1].push_back({.region = {0, 0, 1, 2}, .channels = 1});
    boundaries[2].push_back(View(out[row], {0, 0, 1, 2}));
  }
  ASSERT_TRUE(Run(form, {1}, boundaries).ok());
  EXPECT_EQ(out[0], (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(out[1], (std::vector<uint8_t>{100 + 5 + 7, 100 + 6 + 7}));
}

TEST_F(SimFormTest, AFailingBodyIsAFailingDevice) {
  FakeFault fault;
  Init(fault, "broken");
  const SimForm<FakeFault> form(fault);
  std::vector<uint8_t> in(4), out(4);
  const std::vector<std::vector<FieldView>> boundaries = {{View(in, {0, 0, 2, 2})},
                                                          {View(out, {0, 0, 2, 2})}};
  EXPECT_FALSE(Run(form, {0}, boundaries).ok());
  EXPECT_EQ(device_->status().message(), "broken");
  EXPECT_FALSE(Run(form, {0}, boundaries).ok());
}

TEST_F(SimFormTest, ARowsFailureIsItsStatusWhereThatIsReported) {
  const FailsOnZero stage;
  const ReportingForm form(stage);
  std::vector<uint8_t> in[3] = {{7, 1}, {0, 2}, {8, 3}}, out[3] = {{0, 0}, {0, 0}, {0, 0}};
  std::vector<std::vector<FieldView>> boundaries(2);
  for (int row = 0; row < 3; ++row) {
    boundaries[0].push_back(View(in[row], {0, 0, 1, 2}));
    boundaries[1].push_back(View(out[row], {0, 0, 1, 2}));
  }
  ASSERT_TRUE(Run(form, {0, 1, 2}, boundaries).ok());
  EXPECT_EQ(status_, (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(out[0], in[0]);
  EXPECT_EQ(out[2], in[2]);  // Those behind it are done.
}

}  // namespace
}  // namespace penstock
