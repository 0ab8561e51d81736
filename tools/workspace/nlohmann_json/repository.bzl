"""@nlohmann_json from Debian's nlohmann-json3-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def nlohmann_json_repository(name):
    """Declares @nlohmann_json//:json.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "nlohmann-json3-dev",
        files = {"BUILD.bazel": "//tools/workspace/nlohmann_json:package.BUILD.bazel"},
        headers = [
            "nlohmann",
        ],
        modules = {"nlohmann_json": "3.11"},
    )
