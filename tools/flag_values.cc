#include "penstock/tools/flag_values.h"

#include <algorithm>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/graphs/byte_count.h"

namespace penstock {
namespace {

// CLI11's own conversions take octal numbers and state no range.
void AddText(CLI::App& command, const std::string& name, const std::string& form,
             const std::string& help, const std::function<void(const std::string&)>& take) {
  command.add_option_function<std::string>(name, take, help)->type_name(form);
}

[[noreturn]] void Refuse(const std::string& name, const std::string& value,
                         const std::string& expected) {
  throw CLI::ValidationError(name, absl::StrCat("\"", value, "\" is not ", expected));
}

}  // namespace

void AddInteger(CLI::App& command, const std::string& name, int64_t low, int64_t high,
                const std::string& help, int64_t& value) {
  AddText(command, name, "N", help, [=, &value](const std::string& text) {
    if (!absl::SimpleAtoi(text, &value) || value < low || value > high) {
      Refuse(name, text, absl::StrCat("a whole number from ", low, " to ", high));
    }
  });
}

void AddBytes(CLI::App& command, const std::string& name, const std::string& help, int64_t& value) {
  AddText(command, name, "BYTES", help, [=, &value](const std::string& text) {
    const std::optional<int64_t> bytes = ParseByteCount(text);
    if (!bytes) Refuse(name, text, "a number of bytes, as 536870912 or 512MiB");
    value = *bytes;
  });
}

void AddNumber(CLI::App& command, const std::string& name, double high, const std::string& help,
               std::optional<double>& value) {
  AddText(command, name, "X", help, [=, &value](const std::string& text) {
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !(number >= 0 && number <= high)) {  // Also not a NaN.
      Refuse(name, text, absl::StrCat("a number from 0 to ", high));
    }
    value = number;
  });
}

void AddChoice(CLI::App& command, const std::string& name, const std::vector<std::string>& choices,
               const std::string& help, std::string& value) {
  const std::string list = absl::StrJoin(choices, "|");
  AddText(command, name, list, help, [=, &value](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      Refuse(name, text, list);
    }
    value = text;
  });
}

void AddAssignments(CLI::App& command, const std::string& name, const std::string& form,
                    const std::string& help, std::vector<std::string>& values) {
  const auto take = [=, &values](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const size_t equals = text.find('=');
      if (equals == 0 || equals == std::string::npos) Refuse(name, text, form);
    }
    values = texts;
  };
  command.add_option_function<std::vector<std::string>>(name, take, help)
      ->type_name(form)
      ->allow_extra_args(false);  // One value a flag: what follows may be the graph.
}

void AddPlanned(CLI::App& command, const std::string& name) {
  const auto refuse = [name](const std::vector<std::string>&) {
    throw CLI::ValidationError(name, "not built yet");
  };
  command.add_option_function<std::vector<std::string>>(name, refuse)
      ->expected(0, 1)
      ->group("");  // Not part of --help.
}

}  // namespace penstock
