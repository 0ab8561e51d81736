"""@com_github_google_benchmark from Debian's libbenchmark-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def benchmark_repository(name):
    """Declares @com_github_google_benchmark//:benchmark and :benchmark_main.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "libbenchmark-dev",
        files = {"BUILD.bazel": "//tools/workspace/benchmark:package.BUILD.bazel"},
        headers = [
            "benchmark",
        ],
        modules = {"benchmark": "1.7"},
    )
