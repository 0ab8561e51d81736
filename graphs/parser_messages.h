// What protobuf's parser of text says, kept.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/io/tokenizer.h"

namespace penstock {

// Line and column start at 0.
struct ParserMessage {
  int line = 0, column = 0;
  std::string text;
  bool warning = false;
};

// Keeps messages up to the first error: what the parser says behind it comes from its being lost.
class ParserMessages final : public google::protobuf::io::ErrorCollector {
 public:
  // An embedder's protobuf may be newer and call Record... where 3.21 calls Add...: without
  // `override` both compile with either. NOLINTBEGIN(modernize-use-override)
  void AddError(int line, int column, const std::string& text) { Keep(line, column, text, false); }
  void AddWarning(int line, int column, const std::string& text) { Keep(line, column, text, true); }
  void RecordError(int line, int column, absl::string_view text) {
    Keep(line, column, std::string(text), false);
  }
  void RecordWarning(int line, int column, absl::string_view text) {
    Keep(line, column, std::string(text), true);
  }
  // NOLINTEND(modernize-use-override)

  const std::vector<ParserMessage>& all() const { return all_; }
  bool has_error() const { return !all_.empty() && !all_.back().warning; }

 private:
  void Keep(int line, int column, const std::string& text, bool warning) {
    if (!has_error()) all_.push_back({line, column, text, warning});
  }

  std::vector<ParserMessage> all_;
};

}  // namespace penstock
