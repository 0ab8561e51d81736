#include "penstock/tools/messages.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {

void Print(absl::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int CheckStdout(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  PrintMessage("standard output cannot be written to");
  return code == kGood ? kRunFailed : code;
}

void PrintMessage(absl::string_view text) {
  std::string lines;  // Written at once, so that lines of several threads do not mix.
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&lines, "penstock: ", line, "\n");
  }
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

int ReportWrongInput(const absl::Status& error) {
  // An error without words still needs a line.
  PrintMessage(error.message().empty() ? absl::StatusCodeToString(error.code()) : error.message());
  return kWrongInput;
}

int Report(const absl::Status& error) {
  ReportWrongInput(error);
  return absl::IsInvalidArgument(error) ? kWrongInput : kRunFailed;
}

}  // namespace penstock
