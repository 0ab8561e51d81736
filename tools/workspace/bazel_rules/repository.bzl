"""Stand-ins for the rule sets that Bazel 4 would download."""

def _rules_repository_impl(ctx):
    ctx.file("BUILD.bazel", "")
    ctx.file(ctx.attr.package + "/BUILD.bazel", "")
    ctx.symlink(ctx.attr.rules, ctx.attr.package + "/defs.bzl")

rules_repository = repository_rule(
    implementation = _rules_repository_impl,
    doc = "A repository with one .bzl file, @<name>//<package>:defs.bzl.",
    attrs = {
        "package": attr.string(mandatory = True),
        "rules": attr.label(mandatory = True),
    },
)

def _no_coverage_tools_impl(ctx):
    ctx.file("BUILD.bazel", """
filegroup(
    name = "coverage_report_generator",
    visibility = ["//visibility:public"],
)
""")

no_coverage_tools = repository_rule(
    implementation = _no_coverage_tools_impl,
    doc = "What every cc_test depends on, although only `bazel coverage` uses it.",
)
