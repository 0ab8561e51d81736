// What a binary gets that links the stages' targets: each stage registers itself, and the snippet
// in its .proto works as it stands. Linked statically, as binaries are: a target without alwayslink
// would vanish here.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

constexpr const char* kStages[] = {
    "collate/collate",
    "decode/decode_image",
    "pin/pin",
    "read/read_array",
    "read/read_cifar10",
    "read/read_image_folder",
    "transform/center_crop",
    "transform/normalize",
    "transform/random_crop",
    "transform/random_horizontal_flip",
    "transform/random_resized_crop",
    "transform/resize",
    "upload/upload",
};

std::string ReadProto(const std::string& stage) {
  std::ifstream file(absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"),
                                  "/stages/", stage, ".proto"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The Anys that the comments show, "[type.googleapis.com/...] { ... }".
std::vector<std::string> Snippets(std::string text) {
  for (size_t at; (at = text.find("\n//")) != std::string::npos;) text.erase(at, 3);
  std::vector<std::string> snippets;
  for (size_t at = 0; (at = text.find("[type.googleapis.com/", at)) != std::string::npos;) {
    size_t end = text.find('{', at) + 1;
    for (int depth = 1; depth > 0 && end < text.size(); ++end) {
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    }
    snippets.push_back(text.substr(at, end - at));
    at = end;
  }
  return snippets;
}

absl::Status Check(const Registry::Entry& entry, const google::protobuf::Message& options) {
  BatchSettings settings;
  if (entry.role == Registry::Role::kPlan) return entry.plan()->Apply(options, settings);
  if (entry.role == Registry::Role::kSample) return entry.sample()->Init(options);
  // A source gets as far as its folder, "${data}", which nobody has filled here.
  absl::Status status = entry.source()->Init(options);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

TEST(Registration, EveryStageIsThereOnce) {
  EXPECT_TRUE(Registry::Default().status().ok()) << Registry::Default().status();
  for (const char* name : {"CenterCrop", "Collate", "DecodeImage", "Normalize", "Pin", "RandomCrop",
                           "RandomHorizontalFlip", "RandomResizedCrop", "ReadArray", "ReadCifar10",
                           "ReadImageFolder", "Resize", "Upload"}) {
    EXPECT_NE(Registry::Default().Find(absl::StrCat("penstock.", name)), nullptr) << name;
  }
  EXPECT_NE(Registry::Default().FindDeviceForm(DeviceKind::kSim, {"penstock.Normalize"}), nullptr);
}

TEST(Registration, SnippetsInTheManualWork) {
  for (const char* stage : kStages) {
    const auto snippets = Snippets(ReadProto(stage));
    EXPECT_FALSE(snippets.empty()) << stage;
    for (const std::string& snippet : snippets) {
      google::protobuf::Any any;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(snippet, &any)) << snippet;
      const std::string name = any.type_url().substr(any.type_url().find('/') + 1);
      const Registry::Entry* entry = Registry::Default().Find(name);
      ASSERT_NE(entry, nullptr) << name;
      const auto* prototype =
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(entry->options);
      const std::unique_ptr<google::protobuf::Message> options(prototype->New());
      ASSERT_TRUE(any.UnpackTo(options.get())) << snippet;
      EXPECT_TRUE(Check(*entry, *options).ok()) << snippet << ": " << Check(*entry, *options);
    }
  }
}

}  // namespace
}  // namespace penstock
