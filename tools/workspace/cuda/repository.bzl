"""@cuda: the CUDA toolkit of this machine."""

load(
    "//tools/workspace:system_repository.bzl",
    "FILES_ATTR",
    "link_files",
    "write_found",
    "write_missing",
)

def _cuda_repository_impl(ctx):
    link_files(ctx)
    finder = ctx.path(Label("//tools/workspace/cuda:find_cuda.sh"))
    root = ctx.execute([finder]).stdout.strip()
    if not root:
        write_missing(ctx, [
            "No CUDA toolkit of version 12.4 or newer was found: neither in CUDA_HOME, nor by",
            "nvcc on PATH, nor in /usr/local/cuda.",
            "Build through tools/bazelw, which installs a compiler, or without CUDA by",
            "--config=nocuda.",
        ])
        return
    for folder in ["bin", "include", "nvvm"]:
        ctx.symlink("%s/%s" % (root, folder), folder)
    for folder in ["lib64", "lib"]:
        runtime = ctx.path("%s/%s/libcudart_static.a" % (root, folder))
        if runtime.exists:
            ctx.symlink(runtime, "lib/libcudart_static.a")
            break
    write_found(ctx)

_cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    local = True,
    environ = [
        "CUDA_HOME",
        "HOME",
        "PATH",
        "PENSTOCK_CUDA",
        "XDG_CACHE_HOME",
    ],
    attrs = {"files": FILES_ATTR},
)

def cuda_repository(name):
    """Declares @cuda with :nvcc, :nvcc_files, :headers and :cudart_static.

    Args:
      name: the repository.
    """
    _cuda_repository(
        name = name,
        files = {"BUILD.bazel": "//tools/workspace/cuda:package.BUILD.bazel"},
    )
