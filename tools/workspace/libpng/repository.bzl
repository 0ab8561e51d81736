"""@libpng from Debian's libpng-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def libpng_repository(name):
    """Declares @libpng//:libpng.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "libpng-dev",
        files = {"BUILD.bazel": "//tools/workspace/libpng:package.BUILD.bazel"},
        headers = [
            "png.h",
            "pngconf.h",
            "pnglibconf.h",
        ],
        modules = {"libpng": "1.6"},
    )
