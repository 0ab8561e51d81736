// What the command says, and how it ends.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Of every command; a signal ends it with 128 + its number.
inline constexpr int kGood = 0;
inline constexpr int kRunFailed = 1;
inline constexpr int kWrongInput = 2;  // The graph or the flags; nothing was started.

// Prints `text` on stdout, at once: what a person asked to be told.
void Print(absl::string_view text);

// `code`, or kRunFailed with a message if something that was to be on stdout could not be written.
int CheckStdout(int code);

// Prints each line of `text` on stderr, after "penstock: ".
void PrintMessage(absl::string_view text);

// Prints an error and returns the code to exit with: by its kind, or always `kWrongInput` for what
// happened before anything was started.
int Report(const absl::Status& error);
int ReportWrongInput(const absl::Status& error);

}  // namespace penstock
