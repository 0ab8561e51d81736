#include "penstock/tools/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "penstock/stages/nearest.h"
#include "penstock/tools/check_command.h"
#include "penstock/tools/messages.h"
#include "penstock/tools/run_command.h"
#include "penstock/tools/run_flags.h"
#include "penstock/tools/show_command.h"
#include "penstock/tools/stages_command.h"
#include "penstock/tools/version.h"

namespace penstock {
namespace {

// CLI11 reads `--data= x` as `--data x`. An empty value is one, too.
std::vector<std::string> SeparateEmptyValues(const std::vector<std::string>& arguments) {
  std::vector<std::string> separate;
  for (const std::string& argument : arguments) {
    if (absl::StartsWith(argument, "--") && argument.find('=') == argument.size() - 1) {
      separate.push_back(argument.substr(0, argument.size() - 1));
      separate.emplace_back();
    } else {
      separate.push_back(argument);
    }
  }
  return separate;
}

// "; did you mean --epochs?", or nothing.
std::string Suggestion(const CLI::App& command) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) known.push_back(option->get_name());
  }
  for (const std::string& unknown : command.remaining()) {
    const std::string nearest = Nearest(unknown.substr(0, unknown.find('=')), known);
    if (absl::StartsWith(nearest, "--")) return absl::StrCat("; did you mean ", nearest, "?");
  }
  return "";
}

std::string WithoutCommand(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining();
  const std::string what = unknown.empty()
                               ? "a command is missing"
                               : absl::StrCat("there is no command \"", unknown.front(), "\"");
  return absl::StrCat(what, "; expected run, check, show or stages, or --help");
}

int ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  std::string what =
      parsed.empty() ? WithoutCommand(app) : absl::StrCat(error.what(), Suggestion(*parsed[0]));
  std::replace(what.begin(), what.end(), '\n', ' ');
  PrintMessage(what);
  return kWrongInput;
}

int ParseAndRun(const std::vector<std::string>& arguments) {
  CLI::App app("Reads samples, decodes them, and feeds batches to a device.", "penstock");
  app.require_subcommand(1);
  app.set_version_flag("--version", absl::StrCat("penstock ", kVersion));

  RunFlags run_flags;
  CLI::App* run = app.add_subcommand("run", "Runs a graph, and says what limits it");
  AddRunFlags(*run, run_flags);
  GraphFlags check_flags;
  CLI::App* check = app.add_subcommand("check", "Lists all that is wrong with a graph");
  AddGraphFlags(*check, check_flags);
  GraphFlags show_flags;
  CLI::App* show = app.add_subcommand("show", "Prints the plan for a graph, and its memory");
  AddGraphFlags(*show, show_flags);
  std::string stage;
  CLI::App* stages = app.add_subcommand("stages", "Lists the stages, or the options of one");
  stages->add_option("NAME", stage, "A stage")->type_name("");

  try {
    std::vector<std::string> reversed = SeparateEmptyValues(arguments);
    std::reverse(reversed.begin(), reversed.end());  // As CLI11 takes them.
    app.parse(reversed);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return ReportParseError(app, error);
  }
  if (run->parsed()) return RunCommand(run_flags);
  if (check->parsed()) return CheckCommand(check_flags);
  if (show->parsed()) return ShowCommand(show_flags);
  return StagesCommand(stage);
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments) {
  return CheckStdout(ParseAndRun(arguments));
}

void EnterUsersFolder() {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  std::error_code ignored;  // A folder that is gone has no relative paths.
  if (folder != nullptr) std::filesystem::current_path(folder, ignored);
}

}  // namespace penstock
