#include "penstock/stages/registry.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "penstock/stages/fake_stages.h"

namespace penstock {
namespace {

class FakeSource final : public TypedSource<google::protobuf::Empty> {
 public:
  std::optional<int64_t> size() const override { return 3; }
  SampleSpec fields() const override { return {}; }
  std::string key(int64_t) const override { return ""; }
  Extent Locate(int64_t) const override { return {}; }
  absl::Status Finish(absl::Span<const std::byte>, Sample&, SampleContext&) const override {
    return absl::OkStatus();
  }

 protected:
  absl::Status Init() override { return absl::OkStatus(); }
};

class FakePlan final : public PlanStage {
 public:
  using Options = google::protobuf::BytesValue;
  PlanRole role() const override { return PlanRole::kPin; }
  absl::Status Apply(const google::protobuf::Message&, BatchSettings&) const override {
    return absl::OkStatus();
  }
};

class FakeMix final : public TypedBatchStage<google::protobuf::DoubleValue> {
 public:
  absl::Status Process(HostBatch&, Random&) const override { return absl::OkStatus(); }
};

TEST(Registry, KeepsEachKindByTheNameOfItsOptions) {
  Registry registry;
  registry.Add<FakeSource>();
  registry.Add<FakeAdd>();
  registry.Add<FakePlan>();
  registry.Add<FakeMix>();
  EXPECT_TRUE(registry.status().ok());
  const Registry::Entry* source = registry.Find("google.protobuf.Empty");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->role, Registry::Role::kSource);
  EXPECT_EQ(source->source()->size(), 3);
  EXPECT_EQ(registry.Find("google.protobuf.Int32Value")->role, Registry::Role::kSample);
  EXPECT_NE(registry.Find("google.protobuf.Int32Value")->sample(), nullptr);
  EXPECT_EQ(registry.Find("google.protobuf.BytesValue")->plan()->role(), PlanRole::kPin);
  EXPECT_EQ(registry.Find("google.protobuf.DoubleValue")->role, Registry::Role::kBatch);
  EXPECT_EQ(registry.Find("Empty"), nullptr);
  EXPECT_EQ(registry.Find("google.protobuf.StringValue"), nullptr);
  std::vector<std::string> names;
  for (const Registry::Entry* entry : registry.entries()) names.push_back(entry->options->name());
  EXPECT_THAT(names, testing::ElementsAre("BytesValue", "DoubleValue", "Empty", "Int32Value"));
}

TEST(Registry, ReportsWhatIsRegisteredTwiceAndKeepsTheFirst) {
  Registry registry;
  registry.Add<FakeAdd>();
  registry.Add<FakeAdd>();
  registry.Add<SimForm<FakeAdd>>();
  registry.Add<SimForm<FakeAdd>>();
  EXPECT_EQ(registry.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(registry.status().message(),
            "registered twice: google.protobuf.Int32Value, google.protobuf.Int32Value (device "
            "form); link each stage once");
  EXPECT_EQ(registry.entries().size(), 1u);
  EXPECT_EQ(registry.device_forms().size(), 1u);
}

TEST(Registry, FindsDeviceFormsByTheirExactSequence) {
  Registry registry;
  registry.Add<SimForm<FakeTrim, FakeAdd>>();
  const std::string trim = "google.protobuf.UInt32Value", add = "google.protobuf.Int32Value";
  const Registry::DeviceEntry* form = registry.FindDeviceForm(DeviceKind::kSim, {trim, add});
  ASSERT_NE(form, nullptr);
  EXPECT_EQ(registry.FindDeviceForm(DeviceKind::kCuda, {trim, add}), nullptr);
  EXPECT_EQ(registry.FindDeviceForm(DeviceKind::kSim, {add, trim}), nullptr);
  EXPECT_EQ(registry.FindDeviceForm(DeviceKind::kSim, {trim}), nullptr);
  EXPECT_EQ(registry.FindDeviceForm(DeviceKind::kSim, {trim, add, add}), nullptr);
  FakeTrim first;
  FakeAdd second;
  const SampleStage* host[] = {&first, &second};
  EXPECT_NE(form->make(host), nullptr);
}

TEST(Registry, NamesTheNearest) {
  google::protobuf::FileDescriptorProto file;
  file.set_name("fake.proto");
  file.set_package("penstock");
  for (const char* name : {"DecodeImage", "RandomCrop"}) file.add_message_type()->set_name(name);
  google::protobuf::DescriptorPool pool;
  const auto* built = pool.BuildFile(file);
  ASSERT_NE(built, nullptr);
  Registry registry;
  for (int i = 0; i < built->message_type_count(); ++i) {
    registry.AddSource(built->message_type(i), [] { return std::make_unique<FakeSource>(); });
  }
  EXPECT_EQ(registry.Nearest("decode_jpg"), "penstock.DecodeImage");
  EXPECT_EQ(registry.Nearest("penstock.RandonCrop"), "penstock.RandomCrop");
  EXPECT_EQ(registry.Nearest("xyzzy"), "");
}

}  // namespace
}  // namespace penstock
