"""@oneTBB from Debian's libtbb-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def onetbb_repository(name):
    """Declares @oneTBB//:tbb.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "libtbb-dev",
        files = {"BUILD.bazel": "//tools/workspace/onetbb:package.BUILD.bazel"},
        headers = [
            "oneapi",
            "tbb",
        ],
        modules = {"tbb": "2021.8"},
    )
