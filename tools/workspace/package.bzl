"""What the BUILD files of system repositories are written with.

A repository rule links this file into each such repository, next to the found.bzl
that it writes.
"""

load(":found.bzl", "LINKOPTS", "MISSING")

def required(files):
    """Returns `files`, which building must not go without.

    Where the library is missing, each is the output of an action that prints what to
    install and fails. So a target that uses it fails when it is built, not when it is
    loaded, and everything else still builds.

    Args:
      files: list of paths in this package.
    """
    if MISSING:
        for file in files:
            native.genrule(
                name = "missing_" + file.replace("/", "_"),
                srcs = ["//:missing.txt"],
                outs = [file],
                cmd = "cat $(location //:missing.txt) >&2; exit 1",
                message = "Looking for " + file,
            )
    return files

def system_headers(name, patterns = ["include/**"], visibility = None):
    """Declares a cc_library of the installed headers, without anything to link.

    Args:
      name: the target.
      patterns: glob of the headers.
      visibility: the target's.
    """
    native.cc_library(
        name = name,
        hdrs = required([name + "_missing.h"]) if MISSING else native.glob(patterns),
        includes = ["include"],
        visibility = visibility,
    )

def system_library(name, module, deps = [":headers"], linkopts = []):
    """Declares a cc_library that links one pkg-config module.

    Args:
      name: the target, named as upstream does.
      module: the module, one of those that the repository was declared with.
      deps: targets with the headers.
      linkopts: more options, put before the module's.
    """
    native.cc_library(
        name = name,
        linkopts = linkopts + LINKOPTS.get(module, []),
        deps = deps,
    )
