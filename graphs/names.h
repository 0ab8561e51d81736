// Names of nodes, and the hints that errors give about names.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "penstock/graphs/graph.pb.h"

namespace penstock {

// The name of a node that has none: that of its options message in snake_case, without the package.
// An underscore goes before a capital that follows a small letter, or that follows a capital or a
// digit and precedes a small letter: "penstock.ReadCifar10" -> "read_cifar10", "my.HTTPRead2D" ->
// "http_read2d".
std::string DefaultNodeName(absl::string_view full_name);

// The explicit name, else the default one; "" for a node without either.
std::string NodeName(const NodeConfig& node);

// Why `name` is no name of a node; "" if it is one.
std::string NodeNameProblem(absl::string_view name);

// "; did you mean 'x'?", or, where none is near, "; <all> a, b, c"; "" if there are none.
std::string Hint(absl::string_view name, const std::vector<std::string>& known,
                 absl::string_view all);

// "penstock.Collate has no field 'btach_size'; did you mean 'batch_size'?"
std::string NoSuchField(const google::protobuf::Descriptor& message, absl::string_view name);

// "PARTIAL or DROP": the values to choose from, without the unspecified one.
std::string EnumChoices(const google::protobuf::EnumDescriptor& type);
// "tail is 'DORP', expected PARTIAL or DROP; did you mean 'DROP'?"
std::string NoSuchValue(const google::protobuf::FieldDescriptor& field, absl::string_view value);

}  // namespace penstock
