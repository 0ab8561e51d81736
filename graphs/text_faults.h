// The words for what is wrong in a text: what the parser found, said so that it can be put right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "penstock/graphs/any_types.h"
#include "penstock/graphs/parser_messages.h"
#include "penstock/graphs/text_context.h"

namespace penstock {

// The values of batches_in_flight.
inline constexpr int kMinBatchesInFlight = 2, kMaxBatchesInFlight = 1024;

struct TextFault {
  int line = 0, column = 0;  // From 1.
  int node = -1;             // Number of the node that it is in.
  std::string message;
  // A field of the graph or a node is unknown and was skipped: what the nodes are is not known.
  bool hides_form = false;
};

// Nullopt for what is no fault: a deprecated field, and the fields of a stage that is itself
// unknown.
std::optional<TextFault> Explain(const ParserMessage& message, const TextTokens& tokens,
                                 const AnyTypes& types);

// "2 to 1024" or what the type holds, for a field of integers.
std::string IntegerRange(const google::protobuf::FieldDescriptor& field);

// Whether `field` is of integers, and `value` in that range.
bool TakesInteger(const google::protobuf::FieldDescriptor& field, int64_t value);

// The parser met letters right behind a number: 5GiB.
bool MeansUnit(absl::string_view message);

// What is wrong with `value` (text) as a value of `field`, about which the parser said `message`.
std::string ExplainValue(const google::protobuf::FieldDescriptor& field, absl::string_view value,
                         const std::string& message, const AnyTypes& types);

}  // namespace penstock
