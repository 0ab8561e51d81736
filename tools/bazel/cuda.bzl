"""CUDA code as part of an ordinary C++ build.

What is only for CUDA has its own target, and is dropped where CUDA is switched off:

    cuda_library(
        name = "blur_cuda",
        srcs = ["blur_cuda.cu"],
        hdrs = ["blur_cuda.h"],
    )

    cc_library(
        name = "stages",
        deps = [":blur"] + if_cuda([":blur_cuda"]),
    )

Under --config=nocuda `//...` skips the cuda_library, and whatever names it without
if_cuda(); neither nvcc nor the CUDA runtime is asked for. A cc_library, cc_binary or
cc_test that needs CUDA itself says `target_compatible_with = NEEDS_CUDA`.

Other workspaces may use this: load("@penstock//tools/bazel:cuda.bzl", "cuda_library").
"""

load(":nvcc.bzl", "nvcc_library")

_NOCUDA = str(Label("//tools/bazel:nocuda"))

def if_cuda(with_cuda, without_cuda = []):
    """Returns a select() of `with_cuda`, or of `without_cuda` under --config=nocuda.

    Args:
      with_cuda: list for a build with CUDA.
      without_cuda: list for one without.
    """
    return select({
        _NOCUDA: without_cuda,
        "//conditions:default": with_cuda,
    })

NEEDS_CUDA = if_cuda([], [str(Label("//tools/bazel:skip"))])

def cuda_library(
        name,
        srcs,
        hdrs = [],
        deps = [],
        copts = [],
        include_prefix = None,
        alwayslink = False,
        **kwargs):
    """Declares a library of CUDA sources that any cc_ rule may depend on.

    The CUDA runtime is linked statically. The architectures are those of
    --//tools/bazel:cuda_archs; multiplications and additions are never fused.

    Args:
      name: the target.
      srcs: .cu files, and headers that only they include.
      hdrs: headers for users; host code must be able to include them.
      deps: cc_library and cuda_library targets.
      copts: options of nvcc, such as ["-Xcompiler=-Wall"].
      include_prefix: as cc_library's, for hdrs.
      alwayslink: whether to keep all of it in a binary; registrations need that.
      **kwargs: visibility, testonly, tags.
    """
    deps = deps + ["@cuda//:cudart_static"]
    native.cc_library(
        name = name + "_hdrs",
        hdrs = hdrs,
        include_prefix = include_prefix,
        target_compatible_with = NEEDS_CUDA,
        deps = deps,
        **kwargs
    )
    nvcc_library(
        name = name,
        srcs = srcs,
        alwayslink = alwayslink,
        copts = copts,
        target_compatible_with = NEEDS_CUDA,
        deps = deps + [":%s_hdrs" % name],
        **kwargs
    )
