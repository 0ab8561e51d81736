// Flags that say what they take: "--threads: -1 is not a whole number from 0 to 4096".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace penstock {

// Each adds one option to `command`; a wrong value ends the parsing with a CLI::ParseError.

// A whole number from `low` to `high`.
void AddInteger(CLI::App& command, const std::string& name, int64_t low, int64_t high,
                const std::string& help, int64_t& value);
// A number of bytes, as ParseByteCount() has it: 536870912, 512MiB.
void AddBytes(CLI::App& command, const std::string& name, const std::string& help, int64_t& value);
// A number from 0 to `high`.
void AddNumber(CLI::App& command, const std::string& name, double high, const std::string& help,
               std::optional<double>& value);
// One of `choices`.
void AddChoice(CLI::App& command, const std::string& name, const std::vector<std::string>& choices,
               const std::string& help, std::string& value);
// name=value, any number of times. The part before "=" may not be empty.
void AddAssignments(CLI::App& command, const std::string& name, const std::string& form,
                    const std::string& help, std::vector<std::string>& values);
// A flag of the contract that this version does not have yet; it is refused by name.
void AddPlanned(CLI::App& command, const std::string& name);

}  // namespace penstock
