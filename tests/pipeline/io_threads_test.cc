// I/O threads near their devices: on which CPUs each device's samples are read.
#include <pthread.h>

#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/memory/cpu_set.h"
#include "penstock/memory/testing/thread_cpus.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kCount = 40, kRow = 16;
const char* const kFile = "rows";

// Where the samples were read, by id.
struct ReadLog {
  std::mutex mutex;
  std::map<int64_t, std::string> cpus;
};

// Rows of a file, which go straight into the batch: the thread that has read one calls Finish().
class LoggedRows final : public TypedSource<ReadFake> {
 public:
  explicit LoggedRows(ReadLog& log) : log_(log) {}
  std::optional<int64_t> size() const override { return kCount; }
  SampleSpec fields() const override {
    FieldSpec field;
    field.name = "data";
    field.dtype = kUint8;
    field.shape = {kRow};
    return {{field}};
  }
  std::optional<StoredRows> stored_rows() const override { return StoredRows{file(), 0}; }
  std::string key(int64_t id) const override { return absl::StrCat(id); }
  Extent Locate(int64_t id) const override { return {file(), id * kRow, kRow}; }
  absl::Status Finish(absl::Span<const std::byte>, Sample& sample, SampleContext&) const override {
    const std::lock_guard lock(log_.mutex);
    log_.cpus[sample.id] = CpusOfThisThread();
    return absl::OkStatus();
  }

 protected:
  absl::Status Init() override { return absl::OkStatus(); }

 private:
  std::string file() const { return options().root() + "/" + kFile; }
  ReadLog& log_;
};

class IoThreadsTest : public ::testing::Test {
 protected:
  IoThreadsTest() : root_(NewTestFolder("io_threads")) {
    std::ofstream(root_ + "/" + kFile, std::ios::binary) << std::string(kCount * kRow, 'x');
    registry_.AddSource(ReadFake::descriptor(),
                        [this] { return std::make_unique<LoggedRows>(log_); });
    options_.registry = &registry_;
    options_.threads = 2;
    options_.io_threads = 4;
  }
  void SetUp() override {
    if (AllowedCpus().size() < 2) GTEST_SKIP() << "this process may use one CPU";
    first_ = AllowedCpus().front();
    last_ = AllowedCpus().back();
  }

  // On devices that are near these CPUs.
  std::unique_ptr<Pipeline> Make(const std::vector<std::vector<int>>& near_cpus) {
    options_.devices.clear();
    for (const std::vector<int>& cpus : near_cpus) {
      SimOptions sim;
      sim.name = absl::StrCat("sim ", options_.devices.size());
      sim.near_cpus = cpus;
      options_.devices.push_back(SimDevice::Create(sim));
    }
    const auto graph =
        ParseGraph(absl::StrCat("order { shuffle: FULL } node { stage { "
                                "[type.googleapis.com/penstock.testing.ReadFake] { root: \"",
                                root_,
                                "\" } } } node { stage { [type.googleapis.com/penstock.Collate] "
                                "{ batch_size: 2 } } } "
                                "node { stage { [type.googleapis.com/penstock.Upload] { } } }"),
                   "test", {}, registry_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto pipeline = Pipeline::Create(*graph, options_);
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    return *std::move(pipeline);
  }

  // All that a device gets; gives where its samples were read.
  std::vector<std::string> CpusOfReads(Pipeline& pipeline, int device) {
    NextOptions next;
    next.device = device;
    next.timeout = absl::Seconds(30);
    const RunResult run = TakeAll(pipeline, next, 1);
    EXPECT_EQ(run.status, absl::OkStatus());
    std::vector<std::string> cpus;
    const std::lock_guard lock(log_.mutex);
    for (const int64_t id : run.Ids(0)) cpus.push_back(log_.cpus[id]);
    return cpus;
  }

  const std::string root_;
  ReadLog log_;
  Registry registry_ = Registry::Default();
  PipelineOptions options_;
  int first_ = 0, last_ = 0;
};

TEST_F(IoThreadsTest, EachDevicesSamplesAreReadNearIt) {
  const std::string first = CpuListText({first_}), last = CpuListText({last_});
  const auto pipeline = Make({{last_}, {first_}});
  EXPECT_EQ(CpusOfThreads("penstock-io"), (std::multiset<std::string>{first, first, last, last}));
  const std::vector<std::string> of_0 = CpusOfReads(*pipeline, 0), of_1 = CpusOfReads(*pipeline, 1);
  EXPECT_EQ(of_0.size(), size_t{kCount / 2});
  EXPECT_THAT(of_0, Each(last));
  EXPECT_EQ(of_1.size(), size_t{kCount / 2});
  EXPECT_THAT(of_1, Each(first));

  const std::vector<IoThreadsInfo>& io = pipeline->Info().io_threads;
  ASSERT_EQ(io.size(), 2u);
  EXPECT_EQ(io[0].threads, 2);
  EXPECT_EQ(io[0].cpus, last);
  EXPECT_THAT(io[0].devices, ElementsAre("sim 0"));
  EXPECT_EQ(io[1].cpus, first);
  EXPECT_THAT(io[1].devices, ElementsAre("sim 1"));
}

TEST_F(IoThreadsTest, DevicesOnOneNodeShareTheirThreads) {
  const std::string last = CpuListText({last_});
  const auto pipeline = Make({{last_}, {last_}});
  EXPECT_EQ(CpusOfThreads("penstock-io"), (std::multiset<std::string>{last, last, last, last}));
  EXPECT_THAT(CpusOfReads(*pipeline, 1), Each(last));
  ASSERT_EQ(pipeline->Info().io_threads.size(), 1u);
  EXPECT_THAT(pipeline->Info().io_threads[0].devices, ElementsAre("sim 0", "sim 1"));
}

TEST_F(IoThreadsTest, WhereNoCpuIsNearerNoThreadIsBound) {
  const std::string all = CpusOfThisThread();
  for (const std::vector<int>& near : {std::vector<int>(), AllowedCpus(), {100000}}) {
    const auto pipeline = Make({near, near});
    EXPECT_EQ(CpusOfThreads("penstock-io"), (std::multiset<std::string>{all, all, all, all}));
    EXPECT_THAT(CpusOfReads(*pipeline, 0), Each(all));
    ASSERT_EQ(pipeline->Info().io_threads.size(), 1u);
    EXPECT_EQ(pipeline->Info().io_threads[0].threads, 4);
    EXPECT_THAT(pipeline->Info().io_threads[0].cpus, IsEmpty());
  }
}

// As a user's taskset does.
TEST_F(IoThreadsTest, WhatTheCallerMayUseComesFirst) {
  std::thread([this] {
    BindThread(pthread_self(), {first_});
    const std::string first = CpusOfThisThread();
    ASSERT_EQ(first, CpuListText({first_}));
    const auto pipeline = Make({{first_}, {last_}});
    EXPECT_EQ(CpusOfThreads("penstock-io"),
              (std::multiset<std::string>{first, first, first, first}));
    EXPECT_THAT(CpusOfReads(*pipeline, 1), Each(first));
  }).join();
}

}  // namespace
}  // namespace penstock::testing
