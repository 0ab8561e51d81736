// Short forms of graphs' texts and of what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "penstock/graphs/graph.h"

namespace penstock::testing {

// A line "node { <fields> stage { [type.googleapis.com/penstock.<stage>] { <options> } } }". What
// stands in `options` begins at column 50 + the length of `stage`, plus that of `fields` and a
// blank.
std::string Node(const std::string& stage, const std::string& options = "",
                 const std::string& fields = "");

// The lines of a whole graph that lie around what a test is about.
std::string Head();  // One line, a source: testing.ReadImages.
std::string Tail();  // Two lines: Collate, Upload.

// What ParseGraph or, if it succeeds, ValidateGraph finds in `text` with the stages of
// TestRegistry(); the file's name is "g". "" if that is nothing.
std::string Faults(const std::string& text, const GraphEdits& edits = {});

// `lines` as status messages have them.
std::string Lines(const std::vector<std::string>& lines);

}  // namespace penstock::testing
