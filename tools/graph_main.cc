#include "penstock/tools/graph_main.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "penstock/tools/command_line.h"
#include "penstock/tools/messages.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace penstock {

int GraphMain(const GraphBinary& binary, int argc, char** argv) {
  using bazel::tools::cpp::runfiles::Runfiles;
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(argv[0], &error));
  if (runfiles == nullptr) {
    return ReportWrongInput(absl::NotFoundError(
        absl::StrCat("the folder with this program's graph, ", argv[0], ".runfiles: ", error)));
  }
  // Found before the user's folder is entered: argv[0] may be relative to this one.
  const auto find = [&runfiles](const char* path) {
    return std::filesystem::absolute(runfiles->Rlocation(path)).string();
  };
  std::vector<std::string> arguments = {"run", find(binary.graph)};
  if (binary.sample_data != nullptr) {
    arguments.insert(arguments.end(), {"--sample_data", find(binary.sample_data)});
  }
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  EnterUsersFolder();
  return RunCommandLine(arguments);
}

}  // namespace penstock
