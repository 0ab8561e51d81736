// What stands where in a graph's text, for the words of an error: the parser tells only a position.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "penstock/graphs/any_types.h"

namespace penstock {

// The tokens of a text in TextFormat, without comments; the last one is of TYPE_END. Lines and
// columns start at 0.
using TextTokens = std::vector<google::protobuf::io::Tokenizer::Token>;
TextTokens Tokenize(absl::string_view text);

// Index of the first token at or behind the position.
size_t TokenAt(const TextTokens& tokens, int line, int column);

// What encloses tokens[index].
struct TextContext {
  int node = -1;  // Number of the node; -1 outside nodes.
  const google::protobuf::FieldDescriptor* field = nullptr;  // The last one named; null if unknown.
};
TextContext ContextOf(const TextTokens& tokens, size_t index, const AnyTypes& types);

}  // namespace penstock
