// EncodedCache on a simulated device: what it keeps, where, until when.
#include "penstock/scheduler/encoded_cache.h"

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

class CountedSource final : public TypedSource<google::protobuf::Empty> {
 public:
  explicit CountedSource(int64_t samples) : samples_(samples) {}
  absl::Status Init() override { return absl::OkStatus(); }
  std::optional<int64_t> size() const override { return samples_; }
  SampleSpec fields() const override { return {{FieldSpec::Encoded("image")}}; }
  std::string key(int64_t id) const override { return absl::StrCat(id); }
  Extent Locate(int64_t) const override { return {}; }
  absl::Status Finish(absl::Span<const std::byte>, Sample&, SampleContext&) const override {
    return absl::OkStatus();
  }

 private:
  const int64_t samples_;
};

class DescribingStage final : public DeviceStage {
 public:
  size_t descriptor_bytes() const override { return 32; }
  absl::Status Enqueue(const DeviceCall&) const override { return absl::OkStatus(); }
};

// Samples with a label of 8 bytes and a weight of 3, and descriptors of 32 bytes.
ExecutionPlan Plan(CachePlace place, size_t bytes, int64_t samples = 10) {
  ExecutionPlan plan;
  plan.source = std::make_shared<CountedSource>(samples);
  plan.fixed.push_back({1, FieldSpec::Scalar("label", kInt64), 0});
  plan.fixed.push_back({2, {.name = "weight", .dtype = kUint8, .shape = {3}}, 0});
  plan.whole.push_back({"decode", 0, 1, std::make_shared<DescribingStage>()});
  plan.encoded_cache.place = place;
  plan.encoded_cache.bytes = bytes;
  return plan;
}

const std::byte* Bytes(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

// What is known of sample `id`, of `bytes` bytes.
struct Known {
  Known(int64_t id, int64_t bytes)
      : descriptor(32, static_cast<char>('A' + id)), weight(3, static_cast<char>('a' + id)) {
    label = absl::StrCat("label ", id, id < 10 ? " " : "");
    sample.id = id;
    sample.bytes = sample.view_bytes = bytes;
    sample.size = {static_cast<int32_t>(id + 1), static_cast<int32_t>(id + 2)};
    sample.descriptor = Bytes(descriptor);
    sample.fixed[0] = Bytes(label);
    sample.fixed[1] = Bytes(weight);
  }
  std::string descriptor, label, weight;
  EncodedCache::Sample sample;
};

std::string Text(const std::byte* data, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(data), bytes);
}

TEST(EncodedCache, GivesWhatItWasGiven) {
  for (const CachePlace place : {CachePlace::kHost, CachePlace::kPinned}) {
    const ExecutionPlan plan = Plan(place, 1000);
    const auto device = SimDevice::Create();
    const auto cache = EncodedCache::Create(plan, *device);
    ASSERT_TRUE(cache.ok()) << cache.status();
    EXPECT_EQ((*cache)->Find(3), nullptr);
    Known three(3, 20), four(4, 16);
    four.sample.host_form = true;
    (*cache)->Keep(three.sample, Bytes("twenty bytes of three"));
    (*cache)->Keep(four.sample, Bytes("sixteen of four."));
    const EncodedCache::Entry* entry = (*cache)->Find(3);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->bytes, 20);
    EXPECT_EQ(entry->size, (ImageSize{4, 5}));
    EXPECT_FALSE(entry->host_form);
    const auto* const bytes = reinterpret_cast<const std::byte*>(entry->address);
    // All words that the sample touches are its own.
    EXPECT_EQ(Text(bytes, 32), std::string("twenty bytes of thre") + std::string(12, '\0'));
    EXPECT_EQ(Text((*cache)->Descriptor(3), 32), std::string(32, 'D'));
    EXPECT_EQ(Text((*cache)->Fixed(3, 0), 8), "label 3 ");
    EXPECT_EQ(Text((*cache)->Fixed(3, 1), 3), "ddd");
    ASSERT_NE((*cache)->Find(4), nullptr);
    EXPECT_TRUE((*cache)->Find(4)->host_form);
    EXPECT_EQ((*cache)->Find(4)->address, entry->address + 32);
    EXPECT_EQ(Text((*cache)->Fixed(4, 1), 3), "eee");
    EXPECT_EQ((*cache)->Find(2), nullptr);
    EXPECT_EQ((*cache)->used_bytes(), 48u);
  }
}

TEST(EncodedCache, PlacesInARowLieSideBySide) {
  const ExecutionPlan plan = Plan(CachePlace::kDevice, 1000);
  const auto device = SimDevice::Create();
  const auto cache = EncodedCache::Create(plan, *device);
  ASSERT_TRUE(cache.ok()) << cache.status();
  std::byte* const first = (*cache)->Reserve(Known(7, 17).sample);
  std::byte* const second = (*cache)->Reserve(Known(0, 16).sample);
  std::byte* const third = (*cache)->Reserve(Known(9, 1).sample);
  EXPECT_EQ(reinterpret_cast<uint64_t>(first) % 16, 0u);
  EXPECT_EQ(second, first + 32);
  EXPECT_EQ(third, second + 16);
  // Not before its bytes are there, and once only.
  EXPECT_EQ((*cache)->Find(7), nullptr);
  EXPECT_EQ((*cache)->Reserve(Known(7, 17).sample), nullptr);
  (*cache)->Publish(7);
  ASSERT_NE((*cache)->Find(7), nullptr);
  EXPECT_EQ((*cache)->Find(7)->address, reinterpret_cast<uint64_t>(first));
  EXPECT_EQ((*cache)->Reserve(Known(7, 17).sample), nullptr);
  (*cache)->PassOver(0);
  EXPECT_EQ((*cache)->Find(0), nullptr);
  EXPECT_EQ((*cache)->Reserve(Known(0, 16).sample), nullptr);
}

TEST(EncodedCache, AViewIntoTheBytesKeepsItsPlace) {
  const ExecutionPlan plan = Plan(CachePlace::kHost, 1000);
  const auto device = SimDevice::Create();
  const auto cache = EncodedCache::Create(plan, *device);
  ASSERT_TRUE(cache.ok()) << cache.status();
  Known one(1, 12);
  one.sample.view_at = 4;
  one.sample.view_bytes = 7;
  (*cache)->Keep(one.sample, Bytes("headthebodyx"));
  ASSERT_NE((*cache)->Find(1), nullptr);
  EXPECT_EQ(Text(reinterpret_cast<const std::byte*>((*cache)->Find(1)->address), 7), "thebody");
  EXPECT_EQ((*cache)->Find(1)->bytes, 7);
}

TEST(EncodedCache, FullIsFullToTheByte) {
  const ExecutionPlan plan = Plan(CachePlace::kHost, 64);
  const auto device = SimDevice::Create();
  const auto cache = EncodedCache::Create(plan, *device);
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_NE((*cache)->Reserve(Known(0, 33).sample), nullptr);  // 48 with its padding.
  EXPECT_EQ((*cache)->Reserve(Known(1, 17).sample), nullptr);
  EXPECT_NE((*cache)->Reserve(Known(2, 16).sample), nullptr);
  EXPECT_EQ((*cache)->Reserve(Known(3, 1).sample), nullptr);
  EXPECT_EQ((*cache)->used_bytes(), 64u);
}

// Many threads offer all samples and look for them: each is kept once and found whole.
TEST(EncodedCache, ThreadsKeepAndFind) {
  constexpr int kSamples = 2000, kThreads = 4;
  const ExecutionPlan plan = Plan(CachePlace::kHost, kSamples * 32, kSamples);
  const auto device = SimDevice::Create();
  const auto cache = EncodedCache::Create(plan, *device);
  ASSERT_TRUE(cache.ok()) << cache.status();
  std::atomic<int> wrong = 0;
  const auto check = [&](int64_t id) {
    const EncodedCache::Entry* const entry = (*cache)->Find(id);
    if (entry == nullptr) return;
    const std::string want = absl::StrCat("bytes of ", 100000 + id);
    const bool good =
        Text(reinterpret_cast<const std::byte*>(entry->address), 15) == want &&
        entry->size.height == id + 1 &&
        Text((*cache)->Descriptor(id), 32) == std::string(32, static_cast<char>('A' + id));
    wrong += good ? 0 : 1;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < kSamples; ++i) {
        const int64_t id = (i + t * 7) % kSamples;
        (*cache)->Keep(Known(id, 15).sample, Bytes(absl::StrCat("bytes of ", 100000 + id)));
        check((id + 3) % kSamples);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ((*cache)->used_bytes(), size_t{kSamples} * 16);
  for (int64_t id = 0; id < kSamples; ++id) EXPECT_NE((*cache)->Find(id), nullptr);
}

TEST(EncodedCache, MemoryThatIsRefusedIsAnError) {
  SimOptions options;
  options.fail_device_allocation = [](size_t, int64_t) {
    return absl::ResourceExhaustedError("device memory: no");
  };
  const ExecutionPlan plan = Plan(CachePlace::kDevice, 1000);
  const auto device = SimDevice::Create(options);
  EXPECT_EQ(EncodedCache::Create(plan, *device).status(),
            absl::ResourceExhaustedError("device memory: no"));
}

}  // namespace
}  // namespace penstock
