"""@liburing from Debian's liburing-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def liburing_repository(name):
    """Declares @liburing//:liburing.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "liburing-dev",
        files = {"BUILD.bazel": "//tools/workspace/liburing:package.BUILD.bazel"},
        headers = [
            "liburing",
            "liburing.h",
        ],
        modules = {"liburing": "2.3"},
    )
