"""A program for one graph.

    penstock_graph_binary(
        name = "my_train",
        graph = "my_train.textproto",
        sample_data = "//data:small_set",   # what runs without --data
        deps = ["//stages:my_stage"],       # stages of your own, alwayslink
    )

takes the flags of `penstock run`:

    bazel run //:my_train -- --data ~/photos --epochs 2

Other workspaces may use this:
load("@penstock//tools/bazel:graph_binary.bzl", "penstock_graph_binary").
"""

_MAIN = """#include "penstock/tools/graph_main.h"

int main(int argc, char** argv) {{
  return penstock::GraphMain({{{graph}, {sample_data}}}, argc, argv);
}}
"""

def _runfile(ctx, short_path):
    if short_path.startswith("../"):
        return '"%s"' % short_path[len("../"):]
    return '"%s/%s"' % (ctx.workspace_name, short_path)

def _sample_path(ctx):
    files = ctx.files.sample_data
    if len(files) == 1:  # A folder that a rule has made.
        return _runfile(ctx, files[0].short_path)

    # Files in a folder of the target's name.
    label = ctx.attr.sample_data.label
    root = "../%s/" % label.workspace_name if label.workspace_name else ""
    return _runfile(ctx, root + "/".join([part for part in [label.package, label.name] if part]))

def _main_source_impl(ctx):
    source = ctx.actions.declare_file(ctx.label.name + ".cc")
    ctx.actions.write(source, _MAIN.format(
        graph = _runfile(ctx, ctx.file.graph.short_path),
        sample_data = _sample_path(ctx) if ctx.attr.sample_data else "nullptr",
    ))
    return [DefaultInfo(files = depset([source]))]

_main_source = rule(
    implementation = _main_source_impl,
    doc = "Writes the main() of a graph's program.",
    attrs = {
        "graph": attr.label(
            mandatory = True,
            allow_single_file = True,
        ),
        "sample_data": attr.label(allow_files = True),
    },
)

def penstock_graph_binary(name, graph, sample_data = None, deps = [], **kwargs):
    """Declares a cc_binary that runs a graph.

    Args:
      name: the target.
      graph: the textproto.
      sample_data: a target that is a folder, or files in a folder of its name; the data
        set that is used, and said so, when the user names none.
      deps: more stages than Penstock's own; such a target needs `alwayslink = True`.
      **kwargs: as cc_binary's.
    """
    _main_source(
        name = name + "_main",
        graph = graph,
        sample_data = sample_data,
    )
    native.cc_binary(
        name = name,
        srcs = [":%s_main" % name],
        data = [graph] + ([sample_data] if sample_data else []),
        deps = deps + [str(Label("//tools:graph_main"))],
        **kwargs
    )
