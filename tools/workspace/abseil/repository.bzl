"""@com_google_absl from Debian's libabsl-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")
load(":targets.bzl", "TARGETS")

_OLDEST = "20220623"

def abseil_repository(name):
    """Declares @com_google_absl with upstream's packages, such as absl/strings.

    Args:
      name: the repository.
    """
    files = {
        "BUILD.bazel": "//tools/workspace/abseil:root.BUILD.bazel",
        "targets.bzl": "//tools/workspace/abseil:targets.bzl",
    }
    modules = {}
    for package, targets in TARGETS.items():
        files[package + "/BUILD.bazel"] = "//tools/workspace/abseil:package.BUILD.bazel"
        modules.update({module: _OLDEST for module in targets.values()})
    system_repository(
        name = name,
        apt = "libabsl-dev",
        files = files,
        headers = ["absl"],
        modules = modules,
    )
