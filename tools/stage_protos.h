// The .proto files of the stages in this program, with their comments.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock {

// A serialized google.protobuf.FileDescriptorSet. Defined by the program's proto_manual() target
// (tools/bazel/proto_manual.bzl).
absl::string_view StageProtos();

}  // namespace penstock
