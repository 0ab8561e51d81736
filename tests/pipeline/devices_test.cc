// One graph, several devices: who gets which batch, and what one does to the others.
#include <algorithm>
#include <map>
#include <numeric>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kEpochs = 3, kSeats = 3;

class DevicesTest : public ::testing::Test {
 protected:
  DevicesTest() : root_(NewTestFolder("devices")), registry_(MakeTestRegistry()) {
    options_.registry = &registry_;
    options_.epochs = kEpochs;
    options_.threads = options_.io_threads = 2;
    UseDevices(2);
  }

  void UseDevices(int count) {
    options_.devices.clear();
    for (int d = 0; d < count; ++d) options_.devices.push_back(HostDevice());
  }

  // A graph over images 0 to count - 1, in batches of `batch`.
  std::string Text(int count, int batch, const std::string& order = "shuffle: FULL",
                   const std::string& decode = "") const {
    return absl::StrCat(
        "order { ", order, " } batches_in_flight: ", kSeats,
        " node { stage { [type.googleapis.com/penstock.testing.ReadFake] { root: \"", root_,
        "\" count: ", count,
        " } } } node { stage { [type.googleapis.com/penstock.testing.DecodeFake] { ", decode,
        " } } } "
        "node { stage { [type.googleapis.com/penstock.testing.CropFake] { height: 8 width: 9 } } }"
        "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: ",
        batch, " } } } node { stage { [type.googleapis.com/penstock.Upload] { } } }");
  }

  absl::StatusOr<std::unique_ptr<Pipeline>> Create(const std::string& text) {
    PENSTOCK_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(text, "test", {}, registry_));
    return Pipeline::Create(graph, options_);
  }
  std::unique_ptr<Pipeline> Make(int count, int batch, const std::string& order = "shuffle: FULL",
                                 const std::string& decode = "") {
    WriteFakeFolder(root_, count);
    auto pipeline = Create(Text(count, batch, order, decode));
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    return *std::move(pipeline);
  }

  // All batches of all devices, each taken by a consumer of its own.
  std::vector<RunResult> TakeFromAll(Pipeline& pipeline) const {
    std::vector<RunResult> results(options_.devices.size());
    std::vector<std::thread> consumers;
    for (size_t d = 0; d < results.size(); ++d) {
      consumers.emplace_back(
          [&, d] { results[d] = TakeAll(pipeline, Of(static_cast<int>(d)), options_.epochs); });
    }
    for (std::thread& consumer : consumers) consumer.join();
    return results;
  }

  static NextOptions Of(int device, absl::Duration timeout = absl::Seconds(30)) {
    NextOptions next;
    next.device = device;
    next.timeout = timeout;
    return next;
  }

  std::string root_;
  Registry registry_;
  PipelineOptions options_;
};

// What one device takes to be set up is no part of another one's run.
TEST_F(DevicesTest, TheRunBeginsWhenAllDevicesAreReady) {
  absl::Time ready;
  SimOptions slow;
  slow.fail_host_allocation = [&ready](size_t, int64_t) {
    absl::SleepFor(absl::Milliseconds(50));  // So that another one's run would be seen.
    ready = absl::Now();
    return absl::OkStatus();
  };
  options_.devices[1] = SimDevice::Create(slow);
  const auto pipeline = Make(23, 4);
  const double seconds = pipeline->Stats("", 0).seconds;
  EXPECT_LE(seconds, absl::ToDoubleSeconds(absl::Now() - ready));
}

struct Sizes {
  int devices, batch;
  std::vector<int64_t> by_device;
};

// 23 images. Batches go round within each epoch, and each is what a run on one device gives.
TEST_F(DevicesTest, BatchesGoRoundAndAreThoseOfOneDevice) {
  for (const auto& [devices, batch, by_device] :
       {Sizes{2, 4, {3, 3}}, Sizes{2, 5, {3, 2}}, Sizes{3, 4, {2, 2, 2}},
        Sizes{3, 12, {1, 1, 0}}}) {
    SCOPED_TRACE(absl::StrCat(devices, " devices, batches of ", batch));
    UseDevices(1);
    const auto alone = Make(23, batch);
    const RunResult reference = TakeAll(*alone, {}, kEpochs);
    const auto total = static_cast<int64_t>(reference.batches.size()) / kEpochs;

    UseDevices(devices);
    const auto pipeline = Make(23, batch);
    const OutputInfo& info = pipeline->Info().outputs[0];
    EXPECT_EQ(info.batches_by_device, by_device);
    EXPECT_EQ(info.batches_per_epoch, total);
    EXPECT_EQ(info.samples_per_epoch, 23);
    const std::vector<RunResult> results = TakeFromAll(*pipeline);
    for (int64_t d = 0; d < devices; ++d) {
      EXPECT_EQ(results[d].status, absl::OkStatus());
      EXPECT_EQ(results[d].epoch_ends, kEpochs);
      ASSERT_EQ(static_cast<int64_t>(results[d].batches.size()), by_device[d] * kEpochs);
      for (size_t i = 0; i < results[d].batches.size(); ++i) {
        const Got& got = results[d].batches[i];
        const auto n = static_cast<int64_t>(i);
        const int64_t epoch = n / by_device[d], step = d + n % by_device[d] * devices;
        EXPECT_EQ(got.info.epoch, epoch);
        EXPECT_EQ(got.info.sequence, epoch * total + step);
        const Got& expected = reference.batches[got.info.sequence];
        EXPECT_EQ(got.info.ids, expected.info.ids);
        EXPECT_EQ(got.bytes, expected.bytes);
      }
    }
    EXPECT_EQ(pipeline->Stats().batches, total * kEpochs);
    EXPECT_EQ(pipeline->Stats().samples, 23 * kEpochs);
    EXPECT_EQ(pipeline->Stats("", 0).batches, by_device[0] * kEpochs);
  }
}

// Ranks share an epoch, and the devices of each share its part.
TEST_F(DevicesTest, RanksAndDevicesTogetherSeeEachSampleOnce) {
  options_.world = 2;
  std::map<int64_t, std::vector<int64_t>> ids;  // By epoch.
  for (options_.rank = 0; options_.rank < 2; ++options_.rank) {
    const auto pipeline = Make(40, 5);
    for (const RunResult& result : TakeFromAll(*pipeline)) {
      EXPECT_EQ(result.batches.size(), size_t{2 * kEpochs});
      for (const Got& got : result.batches) {
        ids[got.info.epoch].insert(ids[got.info.epoch].end(), got.info.ids.begin(),
                                   got.info.ids.end());
      }
    }
  }
  std::vector<int64_t> all(40);
  std::iota(all.begin(), all.end(), 0);
  ASSERT_EQ(ids.size(), size_t{kEpochs});
  for (auto& [epoch, of_epoch] : ids) {
    std::sort(of_epoch.begin(), of_epoch.end());
    EXPECT_EQ(of_epoch, all) << "epoch " << epoch;
  }
}

TEST_F(DevicesTest, OneThreadMayServeThemInTurn) {
  const auto pipeline = Make(40, 4, "shuffle: NONE");
  for (int64_t i = 0; i < 10; ++i) {
    auto batch = pipeline->Next(Of(static_cast<int>(i % 2)));
    ASSERT_TRUE(batch.ok() && *batch) << batch.status();
    EXPECT_EQ((*batch)->info().ids, (std::vector<int64_t>{4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3}));
  }
}

TEST_F(DevicesTest, ADeviceMustBeNamedWhereThereAreSeveral) {
  const auto pipeline = Make(40, 4);
  EXPECT_EQ(pipeline->Info().devices, (std::vector<std::string>{"host", "host"}));
  EXPECT_EQ(
      pipeline->Next().status(),
      absl::InvalidArgumentError("device: not said of which; expected 0 to 1 for host, host"));
  for (const int wrong : {-1, 2}) {
    EXPECT_EQ(pipeline->Next(Of(wrong)).status(),
              absl::InvalidArgumentError(
                  absl::StrCat("device: ", wrong, ", expected 0 to 1 for host, host")));
    EXPECT_EQ(pipeline->Stats("", wrong).seats, 0);
  }
  EXPECT_EQ(pipeline->Stats("", 1).seats, kSeats);
  EXPECT_EQ(pipeline->Stats().seats, 2 * kSeats);
  EXPECT_TRUE(pipeline->Next(Of(1)).ok()) << "such a call ends nothing";
}

// The consumer of device 0 holds all it can get, and comes back when device 1 has had everything.
TEST_F(DevicesTest, AConsumerThatHoldsItsBatchesHoldsBackNobodyElse) {
  const auto pipeline = Make(60, 2);  // 15 batches a device and epoch: many times the seats.
  std::vector<DeviceBatch> held;
  for (int i = 0; i < kSeats; ++i) held.push_back(*std::move(*pipeline->Next(Of(0))));
  const absl::Status none = pipeline->Next(Of(0, absl::Milliseconds(1))).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(none.message()), HasSubstr("the consumer holds all 3 batches"));

  const RunResult other = TakeAll(*pipeline, Of(1), kEpochs);
  EXPECT_EQ(other.status, absl::OkStatus());
  EXPECT_EQ(other.batches.size(), size_t{15 * kEpochs});
  EXPECT_EQ(pipeline->Stats("", 0).batches, kSeats);
  EXPECT_EQ(pipeline->Stats("", 1).batches, 15 * kEpochs);

  for (int i = 0; i < kSeats; ++i) EXPECT_EQ(held[i].info().sequence, 2 * i);
  held.clear();
  const RunResult rest = TakeAll(*pipeline, Of(0), kEpochs);
  EXPECT_EQ(rest.status, absl::OkStatus());
  ASSERT_EQ(rest.batches.size(), size_t{15 * kEpochs - kSeats});
  EXPECT_EQ(rest.batches[0].info.sequence, 2 * kSeats);
}

// Image 9 is in batch 2, device 0's second.
TEST_F(DevicesTest, AnErrorOnOneDeviceEndsTheRunOnAll) {
  const auto pipeline = Make(40, 4, "shuffle: NONE", "fail_on_label: 9");
  std::vector<DeviceBatch> held;
  for (int i = 0; i < kSeats; ++i) held.push_back(*std::move(*pipeline->Next(Of(1))));
  absl::Status woken;
  // Waits for ever, if nobody wakes it.
  std::thread waiter([&] { woken = pipeline->Next(Of(1, absl::InfiniteDuration())).status(); });
  EXPECT_EQ((*pipeline->Next(Of(0)))->info().sequence, 0);
  const absl::Status error = pipeline->Next(Of(0)).status();
  waiter.join();
  EXPECT_EQ(error,
            absl::DataLossError("node 'decode_fake', batch 2, sample '9.fake': asked to fail"));
  EXPECT_EQ(woken, error);
  for (const int device : {0, 1, 0}) EXPECT_EQ(pipeline->Next(Of(device)).status(), error);
  pipeline->StartEpoch(1);
  EXPECT_EQ(pipeline->Next(Of(1)).status(), error);
  pipeline->Cancel();
  EXPECT_EQ(pipeline->Next(Of(1)).status(), error);
}

// A device that cannot take its copies any more.
TEST_F(DevicesTest, AFailedDeviceEndsTheRunOnAll) {
  SimOptions broken;
  broken.name = "broken";
  broken.fail_copy = [](size_t, int64_t call) {
    return call < 5 ? absl::OkStatus() : absl::InternalError("the link is gone");
  };
  options_.devices[1] = SimDevice::Create(broken);
  const auto pipeline = Make(40, 4);
  const RunResult result = TakeAll(*pipeline, Of(1), kEpochs);
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("the link is gone"));
  EXPECT_LT(result.batches.size(), 5u);
  EXPECT_EQ(pipeline->Next(Of(0)).status(), result.status);
}

TEST_F(DevicesTest, CancelWakesTheConsumersOfAll) {
  const auto pipeline = Make(40, 2);
  std::vector<DeviceBatch> held;
  std::vector<std::thread> waiters;
  for (const int d : {0, 1}) {
    for (int i = 0; i < kSeats; ++i) held.push_back(*std::move(*pipeline->Next(Of(d))));
  }
  for (const int d : {0, 1}) {
    waiters.emplace_back([&pipeline, d] {
      EXPECT_EQ(pipeline->Next(Of(d, absl::InfiniteDuration())).status(),
                absl::CancelledError("the pipeline was cancelled"));
    });
  }
  pipeline->Cancel();
  for (std::thread& waiter : waiters) waiter.join();
}

TEST_F(DevicesTest, StartEpochIsOnAll) {
  options_.epochs = 6;
  const auto pipeline = Make(40, 4);
  // Device 0 is epochs ahead, whatever has been prefetched.
  ASSERT_EQ(TakeAll(*pipeline, Of(0), 2).status, absl::OkStatus());
  pipeline->StartEpoch(4);
  std::vector<int64_t> ids;
  for (const int d : {0, 1}) {
    const RunResult result = TakeAll(*pipeline, Of(d), 1);
    EXPECT_EQ(result.batches.size(), 5u);
    int64_t sequence = 40 + d;
    for (const Got& got : result.batches) {
      EXPECT_EQ(got.info.epoch, 4);
      EXPECT_EQ(got.info.sequence, sequence);
      sequence += 2;
      ids.insert(ids.end(), got.info.ids.begin(), got.info.ids.end());
    }
  }
  std::sort(ids.begin(), ids.end());
  std::vector<int64_t> all(40);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(ids, all);
}

TEST_F(DevicesTest, ASourceWithoutEndFeedsOneDevice) {
  registry_ = MakeTestRegistry(std::make_shared<PushQueue>());
  const std::string text =
      "node { stage { [type.googleapis.com/penstock.testing.ReadPushed] { } } }"
      "node { stage { [type.googleapis.com/penstock.testing.DecodeFake] { } } }"
      "node { stage { [type.googleapis.com/penstock.testing.CropFake] { height: 8 width: 9 } } }"
      "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: 3 } } }"
      "node { stage { [type.googleapis.com/penstock.Upload] { } } }";
  const absl::Status refused = Create(text).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("'read_pushed': is unbounded and can feed one device only, not 2"));
  UseDevices(1);
  EXPECT_EQ(Create(text).status(), absl::OkStatus());
}

// Has a kind and a number, and does nothing.
class NamedDevice final : public Device {
 public:
  explicit NamedDevice(int ordinal) : ordinal_(ordinal) {}
  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::string name() const override { return absl::StrCat("cuda:", ordinal_); }
  DLDevice dl_device() const override { return {kDLCUDA, ordinal_}; }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override { return None(); }
  absl::StatusOr<std::shared_ptr<Event>> AcquireEvent() override { return None(); }
  absl::StatusOr<std::shared_ptr<TimingEvent>> AcquireTimingEvent() override { return None(); }
  absl::StatusOr<Buffer> AllocateHost(size_t, HostMemory) override { return None(); }
  absl::StatusOr<Buffer> AllocateDevice(size_t) override { return None(); }
  absl::StatusOr<Buffer> RegisterHost(std::byte*, size_t) override { return None(); }
  absl::Status CopyToDevice(std::byte*, const std::byte*, size_t, StreamRef) override {
    return None();
  }
  absl::Status CopyToHost(std::byte*, const std::byte*, size_t, StreamRef) override {
    return None();
  }
  absl::Status CopyOnDevice(std::byte*, const std::byte*, size_t, StreamRef) override {
    return None();
  }
  absl::Status Occupy(StreamRef, absl::Duration) override { return None(); }
  absl::Status Synchronize(StreamRef) override { return None(); }
  int64_t driver_allocations() const override { return 0; }

 private:
  static absl::Status None() { return absl::UnimplementedError("a device that does nothing"); }
  const int ordinal_;
};

TEST_F(DevicesTest, DevicesMustBeOfOneKindAndDiffer) {
  WriteFakeFolder(root_, 8);
  const auto refusal = [this](std::vector<std::shared_ptr<Device>> devices) {
    options_.devices = std::move(devices);
    return Create(Text(8, 4)).status();
  };
  const auto host = HostDevice();
  const auto first = std::make_shared<NamedDevice>(0), second = std::make_shared<NamedDevice>(1);
  EXPECT_EQ(refusal({host, nullptr}), absl::InvalidArgumentError("devices: number 1 is null"));
  EXPECT_EQ(
      refusal({host, HostDevice(), host}),
      absl::InvalidArgumentError("devices: numbers 0 and 2 are host; expected each device once"));
  EXPECT_EQ(
      refusal({first, second, std::make_shared<NamedDevice>(0)}),
      absl::InvalidArgumentError("devices: numbers 0 and 2 are cuda:0; expected each device once"));
  EXPECT_EQ(refusal({first, host}),
            absl::InvalidArgumentError(
                "devices: cuda:0 is a CUDA device and host a CPU one; expected one kind"));
}

}  // namespace
}  // namespace penstock::testing
