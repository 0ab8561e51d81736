"""C++ targets of this workspace.

Headers are included as "penstock/<folder>/x.h" everywhere, so that an embedder's
folders never collide with ours, and only what says so is visible to embedders.

A header is private when its target's visibility is: put it into `hdrs` of such a
target, never into `srcs`, where it would have no prefix.
"""

load(":cuda.bzl", "cuda_library")

# Warnings are for our code only: dependants never see these. Host and device must
# compute the same bytes, so nothing may be contracted behind our back.
COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror=return-type",
    "-ffp-contract=off",
]

_NVCC_COPTS = ["-Xcompiler=-Wall,-Wextra,-Werror=return-type"]

# In //tools:bundle the system's libraries stand beside the programs. The old kind of run
# path, as it also counts for what the libraries need themselves.
_LINKOPTS = [
    "-Wl,-rpath,'$$ORIGIN/../lib'",
    "-Wl,--disable-new-dtags",
]

_PRIVATE = ["//:__subpackages__"]

def _include_prefix():
    return "/".join(["penstock", native.package_name()])

def penstock_cc_library(name, copts = [], visibility = _PRIVATE, **kwargs):
    """Declares a cc_library whose headers are "penstock/<folder>/...".

    Args:
      name: the target.
      copts: more options.
      visibility: everything in this workspace, and nothing else, unless stated.
      **kwargs: as cc_library's. A library that registers something needs
        `alwayslink = True`, or it vanishes from binaries.
    """
    native.cc_library(
        name = name,
        copts = COPTS + copts,
        include_prefix = _include_prefix(),
        visibility = visibility,
        **kwargs
    )

def penstock_cuda_library(name, copts = [], visibility = _PRIVATE, **kwargs):
    """Declares a cuda_library whose headers are "penstock/<folder>/...".

    Args:
      name: the target.
      copts: more options of nvcc.
      visibility: everything in this workspace, and nothing else, unless stated.
      **kwargs: as cuda_library's.
    """
    cuda_library(
        name = name,
        copts = _NVCC_COPTS + copts,
        include_prefix = _include_prefix(),
        visibility = visibility,
        **kwargs
    )

def penstock_cc_binary(name, copts = [], linkopts = [], visibility = _PRIVATE, **kwargs):
    """Declares a cc_binary.

    Args:
      name: the target.
      copts: more options.
      linkopts: more options of the linker.
      visibility: everything in this workspace, and nothing else, unless stated.
      **kwargs: as cc_binary's.
    """
    native.cc_binary(
        name = name,
        copts = COPTS + copts,
        linkopts = _LINKOPTS + linkopts,
        visibility = visibility,
        **kwargs
    )

def penstock_cc_test(
        name,
        deps = [],
        copts = [],
        linkopts = [],
        size = "small",
        main = "@com_google_googletest//:gtest_main",
        **kwargs):
    """Declares a GoogleTest.

    It is linked statically: only then does a registration library that lacks
    `alwayslink` vanish in a test as it does in a binary.

    Args:
      name: the target.
      deps: what is tested.
      copts: more options.
      linkopts: more options of the linker.
      size: as cc_test's.
      main: the library with main(), or None if srcs or deps have it.
      **kwargs: as cc_test's. Tag a test that --config=tsan shall run with "tsan".
    """
    native.cc_test(
        name = name,
        size = size,
        copts = COPTS + copts,
        linkopts = _LINKOPTS + linkopts,
        linkstatic = True,
        deps = deps + ([main] if main else []),
        **kwargs
    )

def penstock_umbrella(name, exports, visibility = _PRIVATE, **kwargs):
    """Declares one target that stands for a list of libraries.

    Args:
      name: the target.
      exports: the libraries; if_cuda() may be part of the list.
      visibility: everything in this workspace, and nothing else, unless stated.
      **kwargs: as cc_library's.
    """
    native.cc_library(
        name = name,
        visibility = visibility,
        deps = exports,
        **kwargs
    )
