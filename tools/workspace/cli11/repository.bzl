"""@cli11 from Debian's libcli11-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def cli11_repository(name):
    """Declares @cli11//:cli11.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "libcli11-dev",
        files = {"BUILD.bazel": "//tools/workspace/cli11:package.BUILD.bazel"},
        headers = [
            "CLI",
        ],
        modules = {"CLI11": "2.1"},
    )
