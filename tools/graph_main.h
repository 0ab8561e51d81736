// The program of one graph: `penstock run` with the graph, and a small data set to begin with.
#pragma once

namespace penstock {

// Paths are those of Bazel's runfiles: "workspace/folder/file".
struct GraphBinary {
  const char* graph = "";
  const char* sample_data = nullptr;  // Used where no data is named; null: none.
};

// Takes the flags of `penstock run`, and returns the code to exit with. main() of what
// penstock_graph_binary() declares (tools/bazel/graph_binary.bzl) is this alone.
int GraphMain(const GraphBinary& binary, int argc, char** argv);

}  // namespace penstock
