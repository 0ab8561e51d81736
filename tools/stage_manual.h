// What the comments of a stage's .proto say.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace penstock {

// Const calls are thread-safe.
class StageManual {
 public:
  // `protos`: a serialized FileDescriptorSet with source info; a stage that is not in it has no
  // comments, but still its options.
  explicit StageManual(absl::string_view protos);

  // The first sentence of the message's comment, on one line; "" if it has none.
  std::string Brief(const google::protobuf::Descriptor& options) const;
  // The message's comment and every option with its type and comment. Ends with a line feed.
  std::string Text(const google::protobuf::Descriptor& options) const;
  // The first example node of the message's comment, to paste into a graph; if it has none, a node
  // with no options. Ends with a line feed.
  std::string Snippet(const google::protobuf::Descriptor& options) const;

 private:
  // The same message with its comments, or `options` itself.
  const google::protobuf::Descriptor* Commented(const google::protobuf::Descriptor& options) const;

  google::protobuf::DescriptorPool pool_;
};

}  // namespace penstock
