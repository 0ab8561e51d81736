// AnyTypes: what the type names inside google.protobuf.Any messages stand for.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "penstock/stages/registry.h"

namespace penstock {

// What stands before a stage's name: "type.googleapis.com/penstock.Collate".
inline constexpr char kTypePrefix[] = "type.googleapis.com/";

// Any messages may hold each other; this many levels are followed.
inline constexpr int kMaxNesting = 64;

// The full name of the message in an Any: what stands behind the last '/'.
std::string TypeName(const google::protobuf::Any& any);

// `message` as an Any; null if it is none.
const google::protobuf::Any* AsAny(const google::protobuf::Message& message);
google::protobuf::Any* AsAny(google::protobuf::Message& message);

// Const calls are thread-safe. The registry must outlive it.
class AnyTypes {
 public:
  explicit AnyTypes(const Registry& registry) : registry_(registry) {}

  // The options of a registered stage, else any message that is linked in; null if there is none.
  const google::protobuf::Descriptor* Find(absl::string_view full_name) const;
  // The message in `any`. NotFound: its type is unknown. InvalidArgument: its bytes are none of its
  // type.
  absl::StatusOr<std::unique_ptr<google::protobuf::Message>> Unpack(
      const google::protobuf::Any& any) const;

 private:
  const Registry& registry_;
};

}  // namespace penstock
