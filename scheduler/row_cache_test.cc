// RowCache over sources, files and a simulated device: what it keeps, where, and how it fails.
#include "penstock/scheduler/row_cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/read/temp_folder.h"

namespace penstock {
namespace {

// The row of sample `id`: no two in a row are alike.
absl::string_view Row(int64_t id, int64_t bytes) {
  constexpr int64_t kRows = 251, kMostBytes = (int64_t{1} << 20) + 5;
  static const std::string& noise = *new std::string([] {
    std::string made(kRows + kMostBytes, '\0');
    for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(i * 2654435761U >> 13);
    return made;
  }());
  return absl::string_view(noise).substr(id * 7 % kRows, bytes);
}

// Samples of a row ("row") and two fixed fields ("label", "weight"). A sample's bytes are its id,
// in memory; Finish() writes all fields.
class MadeSource : public TypedSource<google::protobuf::Empty> {
 public:
  MadeSource(int64_t samples, int64_t row_bytes) : row_bytes_(row_bytes), ids_(samples) {
    for (int64_t id = 0; id < samples; ++id) ids_[id] = id;
  }
  absl::Status Init() override { return absl::OkStatus(); }
  std::optional<int64_t> size() const override { return ids_.size(); }
  SampleSpec fields() const override {
    return {{FieldSpec::Scalar("label", kInt64),
             {.name = "row", .shape = {row_bytes_}},
             {.name = "weight", .dtype = kUint8, .shape = {3}}}};
  }
  std::string key(int64_t id) const override { return absl::StrCat("key", id); }
  Extent Locate(int64_t id) const override {
    ++located;
    Extent extent;
    extent.memory = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&ids_[id]), 8);
    return extent;
  }
  absl::Status Finish(absl::Span<const std::byte> bytes, Sample& sample,
                      SampleContext&) const override {
    ++finished;
    if (on_finish) on_finish(sample.id);
    int64_t id = 0;
    std::memcpy(&id, bytes.data(), sizeof id);
    if (id != sample.id) return absl::InternalError("another sample's bytes");
    if (const auto fault = faults.find(id); fault != faults.end()) return fault->second;
    *sample.fields[0].data<int64_t>() = 1000 + id;
    const absl::string_view row = Row(id, row_bytes_);
    std::memcpy(sample.fields[1].data(), row.data(), row.size());
    if (short_rows.contains(id)) sample.fields[1].bytes -= 1;
    for (int i = 0; i < 3; ++i) sample.fields[2].data<uint8_t>()[i] = 3 * id + i;
    return absl::OkStatus();
  }

  mutable std::atomic<int64_t> located = 0, finished = 0;
  std::map<int64_t, absl::Status> faults;
  std::set<int64_t> short_rows;
  std::function<void(int64_t id)> on_finish;

 private:
  const int64_t row_bytes_;
  std::vector<int64_t> ids_;
};

// The rows of a file, back to back behind a header.
class FileSource : public TypedSource<google::protobuf::Empty> {
 public:
  FileSource(std::string path, int64_t samples, int64_t row_bytes)
      : path_(std::move(path)), samples_(samples), row_bytes_(row_bytes) {}
  static constexpr int64_t kHeader = 128;
  static std::string Content(int64_t samples, int64_t row_bytes) {
    std::string content(kHeader, 'h');
    for (int64_t id = 0; id < samples; ++id) absl::StrAppend(&content, Row(id, row_bytes));
    return content;
  }
  absl::Status Init() override { return absl::OkStatus(); }
  std::optional<int64_t> size() const override { return samples_; }
  SampleSpec fields() const override { return {{{.name = "row", .shape = {row_bytes_}}}}; }
  std::optional<StoredRows> stored_rows() const override { return StoredRows{path_, kHeader}; }
  std::string key(int64_t id) const override { return absl::StrCat("key", id); }
  Extent Locate(int64_t id) const override {
    return {.file = path_, .offset = kHeader + id * row_bytes_, .bytes = row_bytes_};
  }
  absl::Status Finish(absl::Span<const std::byte> bytes, Sample&, SampleContext&) const override {
    ++finished;
    return static_cast<int64_t>(bytes.size()) == row_bytes_ ? absl::OkStatus()
                                                            : absl::InternalError("size");
  }

  mutable std::atomic<int64_t> finished = 0;

 private:
  const std::string path_;
  const int64_t samples_, row_bytes_;
};

class RowCacheTest : public testing::Test {
 protected:
  void Use(std::shared_ptr<Source> source, const std::string& field) {
    const SampleSpec spec = source->fields();
    plan_.source_node = "read";
    plan_.source = std::move(source);
    plan_.field = spec.Find(field);
    plan_.chain.input = spec.fields[plan_.field];
    for (int i = 0; i < static_cast<int>(spec.fields.size()); ++i) {
      if (i != plan_.field) plan_.fixed.push_back({.field = i, .spec = spec.fields[i]});
    }
  }
  std::shared_ptr<MadeSource> UseMade(int64_t samples, int64_t row_bytes) {
    auto source = std::make_shared<MadeSource>(samples, row_bytes);
    Use(source, "row");
    return source;
  }
  std::shared_ptr<FileSource> UseFile(int64_t samples, int64_t row_bytes) {
    const std::string path =
        folder_.Write("rows.bin", FileSource::Content(samples, row_bytes) + "behind");
    auto source = std::make_shared<FileSource>(path, samples, row_bytes);
    Use(source, "row");
    return source;
  }
  absl::StatusOr<std::unique_ptr<RowCache>> Fill(CachePlace place, int64_t samples, size_t pitch,
                                                 bool map_file = false) {
    plan_.cache = {.place = place,
                   .samples = samples,
                   .pitch = pitch,
                   .map_file = map_file,
                   .stage_rows = std::min(samples, stage_rows_)};
    return RowCache::Fill(plan_, device_, *io_, counters_, stop_.get_token());
  }
  // The rows are there; they lie as far from each other as was asked, in one range.
  void ExpectRows(const RowCache& cache) const {
    const int64_t bytes = plan_.chain.input.bytes();
    for (int64_t id = 0; id < plan_.cache.samples; ++id) {
      ASSERT_TRUE(cache.Has(id));
      ASSERT_EQ(cache.Address(id), cache.Address(0) + id * plan_.cache.pitch);
      const absl::string_view got(reinterpret_cast<const char*>(cache.Address(id)), bytes);
      ASSERT_TRUE(got == Row(id, bytes)) << "row " << id;
    }
    EXPECT_FALSE(cache.Has(plan_.cache.samples));
  }
  int64_t bytes_read() const { return counters_.bytes_read; }

  // What was allocated on the device and on the host, in order.
  std::vector<size_t> on_device_, on_host_;
  // Injected faults, by number of the call.
  std::map<int64_t, absl::Status> device_faults_, host_faults_, copy_faults_;
  static absl::Status Fault(const std::map<int64_t, absl::Status>& faults, int64_t call) {
    const auto found = faults.find(call);
    return found == faults.end() ? absl::OkStatus() : found->second;
  }
  std::shared_ptr<SimDevice> NewDevice(double gb_per_s) {
    return SimDevice::Create(
        {.gb_per_s = gb_per_s,
         .fail_host_allocation =
             [this](size_t bytes, int64_t call) {
               on_host_.push_back(bytes);
               return Fault(host_faults_, call);
             },
         .fail_device_allocation =
             [this](size_t bytes, int64_t call) {
               on_device_.push_back(bytes);
               return Fault(device_faults_, call);
             },
         .fail_copy = [this](size_t, int64_t call) { return Fault(copy_faults_, call); }});
  }
  std::shared_ptr<SimDevice> device_ = NewDevice(/*gb_per_s=*/0);
  const TempFolder folder_;
  std::shared_ptr<IoPool> io_ = IoPool::Create(4).value();
  std::stop_source stop_;
  RunCounters counters_;
  ExecutionPlan plan_;
  int64_t stage_rows_ = 512;
};

TEST_F(RowCacheTest, KeepsWhatTheSourceWritesInEachPlace) {
  constexpr int64_t kSamples = 100, kBytes = 50;
  constexpr size_t kPitch = 64;
  const auto source = UseMade(kSamples, kBytes);
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned, CachePlace::kDevice}) {
    const auto cache = Fill(place, kSamples, kPitch);
    ASSERT_TRUE(cache.ok()) << cache.status();
    ExpectRows(**cache);
    for (int64_t id = 0; id < kSamples; ++id) {
      int64_t label = 0;
      std::memcpy(&label, (*cache)->Fixed(0, id), sizeof label);
      EXPECT_EQ(label, 1000 + id);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ((*cache)->Fixed(1, id)[i], static_cast<std::byte>(3 * id + i));
      }
    }
    EXPECT_EQ(source->finished.exchange(0), kSamples);
    EXPECT_EQ(counters_.bytes_read.exchange(0), 8 * kSamples);
  }
  // Two in host memory, one on the device behind two halves of a stage.
  EXPECT_EQ(on_device_, std::vector<size_t>{kSamples * kPitch});
  EXPECT_EQ(on_host_,
            (std::vector<size_t>{kSamples * kPitch, kSamples * kPitch, 2 * kSamples * kPitch}));
}

// More than both halves of the stage, over a link that is slower than the source: each half is
// written again only once it has gone up. A simulated copy takes its bytes at the end of its time.
TEST_F(RowCacheTest, FillsTheDeviceInTurns) {
  constexpr int64_t kSamples = 75, kBytes = (int64_t{1} << 20) + 5;
  constexpr size_t kPitch = (size_t{1} << 20) + 16;
  UseMade(kSamples, kBytes);
  stage_rows_ = 31;
  device_ = NewDevice(/*gb_per_s=*/0.2);
  const auto cache = Fill(CachePlace::kDevice, kSamples, kPitch);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ExpectRows(**cache);
  EXPECT_EQ(on_device_, std::vector<size_t>{kSamples * kPitch});
  EXPECT_EQ(on_host_, std::vector<size_t>{2 * 31 * kPitch});
}

TEST_F(RowCacheTest, AStageOfTwoRowsWillDo) {
  UseMade(100, 50);
  stage_rows_ = 1;
  const auto cache = Fill(CachePlace::kDevice, 100, 64);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ExpectRows(**cache);
  EXPECT_EQ(on_host_, std::vector<size_t>{2 * 64});
}

TEST_F(RowCacheTest, KeepsTheFirstSamplesWhereNotAllFit) {
  const auto source = UseMade(100, 50);
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned, CachePlace::kDevice}) {
    const auto cache = Fill(place, 7, 50);
    ASSERT_TRUE(cache.ok()) << cache.status();
    ExpectRows(**cache);
    EXPECT_FALSE((*cache)->Has(99));
    EXPECT_EQ(source->finished.exchange(0), 7);
    EXPECT_EQ(source->located.exchange(0), 7);
  }
}

// Rows that lie in the file as they are to be kept are read by the block; the source has no part.
TEST_F(RowCacheTest, ReadsStoredRowsByTheBlock) {
  constexpr int64_t kSamples = 11, kBytes = 300'000;  // Three a block, two in the last.
  const auto source = UseFile(kSamples, kBytes);
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned, CachePlace::kDevice}) {
    const auto cache = Fill(place, kSamples, kBytes);
    ASSERT_TRUE(cache.ok()) << cache.status();
    ExpectRows(**cache);
    EXPECT_EQ(counters_.bytes_read.exchange(0), kSamples * kBytes);
  }
  EXPECT_EQ(source->finished, 0);
}

TEST_F(RowCacheTest, ReadsStoredRowsOneByOneToAnotherPitch) {
  constexpr int64_t kSamples = 11, kBytes = 1003;
  const auto source = UseFile(kSamples, kBytes);
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned, CachePlace::kDevice}) {
    const auto cache = Fill(place, kSamples, 1008);
    ASSERT_TRUE(cache.ok()) << cache.status();
    ExpectRows(**cache);
    EXPECT_EQ(counters_.bytes_read.exchange(0), kSamples * kBytes);
    EXPECT_EQ(source->finished.exchange(0), kSamples);
  }
}

TEST_F(RowCacheTest, AMappedFileIsPageLockedAndNotRead) {
  constexpr int64_t kSamples = 20, kBytes = 1003;
  const auto source = UseFile(kSamples, kBytes);
  const auto cache = Fill(CachePlace::kPinned, 17, kBytes, /*map_file=*/true);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ExpectRows(**cache);
  EXPECT_EQ((*cache)->Address(0) % 4096, uint64_t{FileSource::kHeader});
  EXPECT_EQ(bytes_read(), 0);
  EXPECT_EQ(source->finished, 0);
  // The one range that was page-locked is the file.
  EXPECT_EQ(on_host_, std::vector<size_t>{FileSource::Content(kSamples, kBytes).size() + 6});
  EXPECT_EQ(on_device_, std::vector<size_t>{});
}

TEST_F(RowCacheTest, AMappingThatCannotBePageLockedIsReadInstead) {
  constexpr int64_t kSamples = 20, kBytes = 1003;
  UseFile(kSamples, kBytes);
  host_faults_ = {{1, absl::FailedPreconditionError("a file on a disk")}};
  const auto cache = Fill(CachePlace::kPinned, kSamples, kBytes, /*map_file=*/true);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ExpectRows(**cache);
  EXPECT_EQ(bytes_read(), kSamples * kBytes);
  ASSERT_EQ(on_host_.size(), 2u);
  EXPECT_EQ(on_host_[1], size_t{kSamples * kBytes});
}

TEST_F(RowCacheTest, AFileThatHasBecomeShorterIsDataLoss) {
  constexpr int64_t kSamples = 20, kBytes = 1000;
  UseFile(kSamples, kBytes);
  const std::string path = folder_ / "rows.bin";
  std::filesystem::resize_file(path, 128 + 20'000 - 1);
  EXPECT_EQ(
      Fill(CachePlace::kPinned, kSamples, kBytes, /*map_file=*/true).status(),
      absl::DataLossError(path + ": 20127 bytes, expected 20128; the file has become shorter"));
  EXPECT_EQ(
      Fill(CachePlace::kHost, kSamples, 1008).status(),
      absl::DataLossError("node 'read', sample 'key19': " + path +
                          ": 999 of 1000 bytes at offset 19128; the file has become shorter"));
  EXPECT_TRUE(Fill(CachePlace::kPinned, kSamples - 1, kBytes, /*map_file=*/true).ok());
  EXPECT_TRUE(Fill(CachePlace::kHost, kSamples - 1, kBytes).ok());
  std::filesystem::remove(path);
  EXPECT_EQ(Fill(CachePlace::kPinned, kSamples, kBytes, /*map_file=*/true).status(),
            absl::NotFoundError(path + ": No such file or directory"));
}

// Whichever is found first: each row is a job of its own.
TEST_F(RowCacheTest, TheLowestBadSampleIsTheError) {
  constexpr int64_t kSamples = 30, kBytes = 1 << 20;
  const auto source = UseMade(kSamples, kBytes);
  for (const int64_t id : {28, 21, 29, 5, 6, 13}) {
    source->faults[id] = absl::DataLossError(absl::StrCat("fault ", id));
  }
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned, CachePlace::kDevice}) {
    for (const bool lowest_last : {false, true}) {
      std::atomic<bool> other_found = false;
      source->on_finish = [&](int64_t id) {
        if (id == 6) other_found = true;  // Read in any case: no fault but the lowest is before it.
        while (lowest_last && id == 5 && !other_found) std::this_thread::yield();
      };
      EXPECT_EQ(Fill(place, kSamples, kBytes).status(),
                absl::DataLossError("node 'read', sample 'key5': fault 5"));
    }
  }
  source->on_finish = nullptr;
  // A bad sample behind what is kept is nobody's business.
  EXPECT_TRUE(Fill(CachePlace::kHost, 5, kBytes).ok());
}

// One thread, and 16 rows a block: the blocks behind the bad sample's are not read.
TEST_F(RowCacheTest, ABadSampleEndsTheReading) {
  constexpr int64_t kSamples = 100, kBytes = 1 << 16;
  io_ = IoPool::Create(1).value();
  const auto source = UseMade(kSamples, kBytes);
  for (const int64_t id : {20, 90}) source->faults[id] = absl::DataLossError("bad");
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned, CachePlace::kDevice}) {
    EXPECT_EQ(Fill(place, kSamples, kBytes).status(),
              absl::DataLossError("node 'read', sample 'key20': bad"));
    EXPECT_EQ(source->finished.exchange(0), 21);
    EXPECT_EQ(counters_.bytes_read.exchange(0), 8 * 21);
  }
}

// One thread, and 16 rows a block: the block in which it happens is the last one that is read.
TEST_F(RowCacheTest, AStopActsWithinABlock) {
  constexpr int64_t kSamples = 100, kBytes = 1 << 16;
  io_ = IoPool::Create(1).value();
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned, CachePlace::kDevice}) {
    const auto source = UseMade(kSamples, kBytes);
    stop_ = std::stop_source();
    source->on_finish = [this](int64_t id) {
      if (id == 20) stop_.request_stop();
    };
    EXPECT_EQ(Fill(place, kSamples, kBytes).status(),
              absl::CancelledError("the pipeline was stopped while it filled a Cache"));
    EXPECT_EQ(source->finished, 32);
    EXPECT_EQ(counters_.bytes_read.exchange(0), 8 * 32);
    plan_.fixed.clear();
  }
  // Nothing is read where it was stopped before.
  const auto source = UseMade(kSamples, kBytes);
  EXPECT_TRUE(absl::IsCancelled(Fill(CachePlace::kHost, kSamples, kBytes).status()));
  EXPECT_EQ(source->located, 0);
}

TEST_F(RowCacheTest, ARowOfAnotherSizeIsDataLoss) {
  const auto source = UseMade(10, 50);
  source->short_rows = {7, 4};
  EXPECT_EQ(Fill(CachePlace::kHost, 10, 64).status(),
            absl::DataLossError("node 'read', sample 'key4': 49 bytes, expected 50"));
}

TEST_F(RowCacheTest, WhatTheDeviceRefusesIsTheError) {
  const auto source = UseMade(10, 50);
  const absl::Status fault = absl::ResourceExhaustedError("no memory");
  // The rows in page-locked memory; the rows on the device; the stage before it; the copy.
  host_faults_ = {{1, fault}};
  EXPECT_EQ(Fill(CachePlace::kPinned, 10, 64).status(), fault);
  device_faults_ = {{1, fault}};
  EXPECT_EQ(Fill(CachePlace::kDevice, 10, 64).status(), fault);
  EXPECT_EQ(source->located, 0);
  host_faults_ = {{2, fault}};
  EXPECT_EQ(Fill(CachePlace::kDevice, 10, 64).status(), fault);
  EXPECT_EQ(source->located, 0);
  copy_faults_ = {{1, fault}};
  EXPECT_EQ(Fill(CachePlace::kDevice, 10, 64).status(), fault);
  EXPECT_TRUE(Fill(CachePlace::kDevice, 10, 64).ok());
  device_->Fail(absl::DataLossError("the device has failed"));
  EXPECT_EQ(Fill(CachePlace::kDevice, 10, 64).status(),
            absl::DataLossError("the device has failed"));
}

}  // namespace
}  // namespace penstock
