"""Every external repository that Penstock's build names.

An embedder calls penstock_repositories() in his WORKSPACE, after declaring those that
he brings himself: names and labels are upstream's, so his own take their places.
"""

load("//tools/workspace/abseil:repository.bzl", "abseil_repository")
load("//tools/workspace/bazel_rules:repository.bzl", "no_coverage_tools", "rules_repository")
load("//tools/workspace/benchmark:repository.bzl", "benchmark_repository")
load("//tools/workspace/cli11:repository.bzl", "cli11_repository")
load("//tools/workspace/cuda:repository.bzl", "cuda_repository")
load("//tools/workspace/dlpack:repository.bzl", "dlpack_repository")
load("//tools/workspace/googletest:repository.bzl", "googletest_repository")
load("//tools/workspace/libjpeg_turbo:repository.bzl", "libjpeg_turbo_repository")
load("//tools/workspace/libpng:repository.bzl", "libpng_repository")
load("//tools/workspace/liburing:repository.bzl", "liburing_repository")
load("//tools/workspace/nlohmann_json:repository.bzl", "nlohmann_json_repository")
load("//tools/workspace/onetbb:repository.bzl", "onetbb_repository")
load("//tools/workspace/protobuf:repository.bzl", "protobuf_repository")

def _maybe(declare, name, **kwargs):
    if not native.existing_rule(name):
        declare(name = name, **kwargs)

def penstock_repositories():
    """Declares all repositories that the workspace does not have yet."""
    _maybe(
        rules_repository,
        name = "rules_cc",
        package = "cc",
        rules = Label("//tools/workspace/bazel_rules:rules_cc.bzl"),
    )
    _maybe(
        rules_repository,
        name = "rules_java",
        package = "java",
        rules = Label("//tools/workspace/bazel_rules:rules_java.bzl"),
    )
    _maybe(no_coverage_tools, name = "remote_coverage_tools")

    _maybe(abseil_repository, name = "com_google_absl")
    _maybe(benchmark_repository, name = "com_github_google_benchmark")
    _maybe(cli11_repository, name = "cli11")
    _maybe(cuda_repository, name = "cuda")
    _maybe(dlpack_repository, name = "dlpack")
    _maybe(googletest_repository, name = "com_google_googletest")
    _maybe(libjpeg_turbo_repository, name = "libjpeg_turbo")
    _maybe(libpng_repository, name = "libpng")
    _maybe(liburing_repository, name = "liburing")
    _maybe(nlohmann_json_repository, name = "nlohmann_json")
    _maybe(onetbb_repository, name = "oneTBB")
    _maybe(protobuf_repository, name = "com_google_protobuf")
