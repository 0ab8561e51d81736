// What a run takes of the machine's memory, and what happens where it cannot have it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() : root_(NewTestFolder("memory")), registry_(MakeTestRegistry()) {
    WriteFakeFolder(root_, kSamples);
    options_.registry = &registry_;
    options_.threads = options_.io_threads = 2;
    options_.log = [this](absl::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_.emplace_back(line);
    };
  }

  // Batches of 4 samples, on 3 seats.
  std::string Text(const std::string& pin = "", const std::string& decode = "") const {
    return absl::StrCat(
        "batches_in_flight: 3 order { shuffle: FULL }",
        "node { stage { [type.googleapis.com/penstock.testing.ReadFake] { root: \"", root_,
        "\" count: ", kSamples, " } } }",
        "node { stage { [type.googleapis.com/penstock.testing.DecodeFake] { ", decode, " } } }",
        "node { stage { [type.googleapis.com/penstock.testing.CropFake] { height: 8 width: 9 } } }",
        "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: 4 } } }",
        "node { stage { [type.googleapis.com/penstock.Pin] { ", pin, " } } }",
        "node { stage { [type.googleapis.com/penstock.Upload] { } } }");
  }
  absl::StatusOr<std::unique_ptr<Pipeline>> Make(const std::string& text) {
    if (options_.devices.empty()) options_.devices = {HostDevice()};
    return Pipeline::Create(*ParseGraph(text, "test", {}, registry_), options_);
  }
  // A device whose `call`th host allocation fails, and so do all behind it that are page-locked.
  static std::shared_ptr<SimDevice> FailingDevice(int64_t call) {
    SimOptions sim;
    sim.fail_host_allocation = [call](size_t bytes, int64_t number) {
      return number == call
                 ? absl::ResourceExhaustedError(absl::StrCat("host pinned memory: ", bytes,
                                                             " bytes asked, 0 bytes held so "
                                                             "far: injected"))
                 : absl::OkStatus();
    };
    return SimDevice::Create(sim);
  }

  static constexpr int kSamples = 40;
  std::string root_;
  Registry registry_;
  PipelineOptions options_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

// Case D13.
TEST_F(MemoryTest, PinnedIsStrict) {
  options_.devices = {FailingDevice(1)};
  const absl::Status status = Make(Text("mode: PINNED")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("seats 1 to 3 of 3: host pinned memory: "), HasSubstr(" bytes asked"),
                    HasSubstr("lower batches_in_flight, batch_size or the bytes of a Cache, or use "
                              "Pin { mode: AUTO }")));
  EXPECT_THAT(log_, IsEmpty());
}

// Case D13: the fall-back, in one line of the log.
TEST_F(MemoryTest, AutoFallsBackToPageableMemory) {
  const RunResult pinned = RunGraph(Text("mode: AUTO"), options_);
  ASSERT_EQ(pinned.status, absl::OkStatus());
  EXPECT_GT(pinned.statistics.pinned_bytes_peak, 0);
  EXPECT_THAT(log_, IsEmpty());
  options_.devices = {FailingDevice(1)};
  const RunResult pageable = RunGraph(Text("mode: AUTO"), options_);
  ASSERT_EQ(pageable.status, absl::OkStatus());
  EXPECT_EQ(pageable.statistics.pinned_bytes_peak, 0);
  EXPECT_EQ(pageable.Bytes("image"), pinned.Bytes("image"));
  EXPECT_THAT(log_, ElementsAre(AllOf(HasSubstr("pageable memory"), HasSubstr("injected"))));
}

TEST_F(MemoryTest, ABudgetIsObeyedToTheLastByte) {
  const int64_t bytes = RunGraph(Text(), options_).statistics.pinned_bytes_peak;
  options_.max_pinned_bytes = bytes;
  EXPECT_EQ(RunGraph(Text(), options_).status, absl::OkStatus());
  options_.max_pinned_bytes = bytes - 1;
  const absl::Status status = RunGraph(Text(), options_).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("takes ", bytes,
                                     " bytes of host pinned memory, but "
                                     "max_pinned_bytes (--max_pinned) allows ",
                                     bytes - 1)));
  EXPECT_EQ(RunGraph(Text("mode: PAGEABLE"), options_).status, absl::OkStatus());
  const RunResult run = RunGraph(Text("mode: AUTO"), options_);
  EXPECT_EQ(run.status, absl::OkStatus());
  EXPECT_EQ(run.statistics.pinned_bytes_peak, 0);
  EXPECT_EQ(log_.size(), 1u);
  // Of two devices together.
  options_.max_pinned_bytes = 2 * bytes - 1;
  options_.devices = {HostDevice(), HostDevice()};
  EXPECT_EQ(Make(Text()).status().code(), absl::StatusCode::kInvalidArgument);
  options_.max_pinned_bytes = 2 * bytes;
  EXPECT_EQ(Make(Text()).status(), absl::OkStatus());
}

TEST_F(MemoryTest, TooManyProcessesForTheMachineAreRefused) {
  options_.local_world = int64_t{1} << 50;
  const absl::Status status = RunGraph(Text(), options_).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("shared by 1125899906842624 processes (local_world)"));
  options_.local_world = -1;
  EXPECT_EQ(RunGraph(Text(), options_).status.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(MemoryTest, StartUpSaysWhatPinningTook) {
  const RunStatistics statistics = RunGraph(Text(), options_).statistics;
  EXPECT_GT(statistics.pinning_seconds, 0);
  EXPECT_LE(statistics.pinning_seconds, statistics.startup_seconds);
}

// Case D12: a source that is faster than its consumer reads no more than the seats hold.
TEST_F(MemoryTest, TheSourceIsNeverFurtherAheadThanTheSeats) {
  options_.epochs = 50;  // Of 10 batches.
  auto pipeline = *Make(Text());
  int64_t taken = 0;
  while (taken < 500) {
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) continue;
    ++taken;
    const RunStatistics statistics = pipeline->Stats();
    const auto& stages = statistics.stages;
    const auto read = std::find_if(stages.begin(), stages.end(), [](const StageStatistics& stage) {
      return stage.place == "io";
    });
    ASSERT_NE(read, stages.end());
    // The seats that are free again, and this one, which is still held.
    ASSERT_LE(read->items, (taken - 1 + 3) * 4);
  }
}

// Case D16: pictures of all sizes, on both plans.
TEST_F(MemoryTest, AThousandBatchesMakeNoCallOfTheDriver) {
  for (const char* decode : {"device: HOST", "device: DEVICE"}) {
    options_.epochs = 102;
    const RunResult run = RunGraph(Text("", decode), options_);
    ASSERT_EQ(run.status, absl::OkStatus());
    EXPECT_EQ(run.statistics.batches, 1020);
    EXPECT_EQ(run.statistics.driver_allocations_after_warmup, 0) << decode;
  }
}

TEST_F(MemoryTest, CheckedLeasesChangeNoByte) {
  options_.epochs = 3;
  for (const char* decode : {"device: HOST", "device: DEVICE"}) {
    options_.check_leases = false;
    const RunResult plain = RunGraph(Text("", decode), options_);
    options_.check_leases = true;
    const RunResult checked = RunGraph(Text("", decode), options_);
    EXPECT_EQ(checked.status, absl::OkStatus());
    EXPECT_EQ(checked.Bytes("image"), plain.Bytes("image"));
    EXPECT_EQ(checked.Bytes("label"), plain.Bytes("label"));
    EXPECT_EQ(checked.statistics.driver_allocations_after_warmup, 0);
  }
}

TEST_F(MemoryTest, ALateWriteEndsTheRunWithItsBatchAndStream) {
  options_.check_leases = true;
  auto pipeline = *Make(Text());
  const auto compute = options_.devices[0]->CreateStream().value();
  volatile std::byte* late = nullptr;
  for (;;) {
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) break;
    (*batch)->WaitOn(compute->ref());
    late = static_cast<std::byte*>((*batch)->tensor("image").data);
  }
  // Else it may still bear the mark of the time before.
  ASSERT_TRUE(options_.devices[0]->Synchronize(compute->ref()).ok());
  // All seats rest now. The last batch was number 9.
  while (*late != std::byte{0xdb}) std::this_thread::yield();
  *late = std::byte{0x77};
  pipeline->StartEpoch(0);
  absl::Status status;
  std::vector<absl::StatusOr<std::optional<DeviceBatch>>> held;  // So that every seat is lent.
  for (int i = 0; i < 3 && status.ok(); ++i) {
    held.push_back(pipeline->Next(absl::Seconds(30)));
    status = held.back().status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("node 'upload', batch 9: its device memory was written after"),
                    HasSubstr("is 0x77, expected 0xdb; stream 0x")));
}

// Case D19.
TEST_F(MemoryTest, AForkedChildIsToldAtOnceAndHarmsNobody) {
  options_.epochs = 20;
  auto pipeline = *Make(Text());
  auto first = pipeline->Next(absl::Seconds(30));
  ASSERT_TRUE(first.ok() && *first);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // Were it to wait for threads that it does not have.
    const absl::Status status = pipeline->Next().status();
    const bool told = status.code() == absl::StatusCode::kFailedPrecondition &&
                      status.message().find("created before fork()") != absl::string_view::npos;
    pipeline->Cancel();
    pipeline->Finish();
    pipeline->StartEpoch(0);
    const bool empty = pipeline->Stats().batches == 0;
    pipeline.reset();
    first = std::nullopt;
    _exit(told && empty ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  first = std::nullopt;
  int64_t batches = 1;
  for (int ends = 0; ends < 20;) {
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok()) << batch.status();
    *batch ? ++batches : ++ends;
  }
  EXPECT_EQ(batches, 200);
}

}  // namespace
}  // namespace penstock::testing
