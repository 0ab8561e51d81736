"""Fuzz tests."""

load(":cc.bzl", "penstock_cc_test")

def penstock_cc_fuzz_test(name, corpus, deps = [], **kwargs):
    """Declares a test of LLVMFuzzerTestOneInput().

    `bazel test` replays the corpus with any compiler. To look for new inputs:

        bazel run --config=fuzz //tests:graph_fuzz -- -max_total_time=60 "$PWD/found"

    Args:
      name: the target.
      corpus: files to replay, such as a glob().
      deps: what is tested.
      **kwargs: as cc_test's.
    """
    fuzzing = "//tools/bazel:fuzzing"
    native.filegroup(
        name = name + "_corpus",
        srcs = corpus,
    )
    penstock_cc_test(
        name = name,
        # Given files, libFuzzer would replay them and stop.
        args = select({
            fuzzing: [],
            "//conditions:default": ["$(rootpaths :%s_corpus)" % name],
        }),
        data = [":%s_corpus" % name],
        linkopts = select({
            fuzzing: ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        main = None,
        deps = deps + select({
            fuzzing: [],
            "//conditions:default": ["//tools/bazel:replay_corpus"],
        }),
        **kwargs
    )
