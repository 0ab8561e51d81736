"""@dlpack from Debian's libdlpack-dev, which has no pkg-config file."""

load(
    "//tools/workspace:system_repository.bzl",
    "FILES_ATTR",
    "apt_advice",
    "link_files",
    "write_found",
    "write_missing",
)

# DLPack 0.6: the first with DLDevice and the type codes that we use.
_OLDEST = 60

def _dlpack_repository_impl(ctx):
    link_files(ctx)
    header = ctx.path("/usr/include/dlpack/dlpack.h")
    version = 0
    if header.exists:
        text = ctx.read(header)
        version = int(text.split("#define DLPACK_VERSION ")[1].split("\n")[0])
    if version < _OLDEST:
        write_missing(
            ctx,
            ["@%s needs the package %s, at least 0.6." % (ctx.name, ctx.attr.apt)] +
            apt_advice(ctx.attr.apt),
        )
        return
    ctx.symlink(header.dirname, "include/dlpack")
    write_found(ctx)

_dlpack_repository = repository_rule(
    implementation = _dlpack_repository_impl,
    local = True,
    attrs = {
        "apt": attr.string(mandatory = True),
        "files": FILES_ATTR,
    },
)

def dlpack_repository(name):
    """Declares @dlpack//:dlpack.

    Args:
      name: the repository.
    """
    _dlpack_repository(
        name = name,
        apt = "libdlpack-dev",
        files = {"BUILD.bazel": "//tools/workspace/dlpack:package.BUILD.bazel"},
    )
