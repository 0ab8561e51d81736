"""@com_google_googletest from Debian's libgmock-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def googletest_repository(name):
    """Declares @com_google_googletest//:gtest and :gtest_main.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "libgmock-dev",
        files = {"BUILD.bazel": "//tools/workspace/googletest:package.BUILD.bazel"},
        headers = [
            "gmock",
            "gtest",
        ],
        modules = {
            "gmock": "1.12",
            "gmock_main": "1.12",
        },
    )
