"""clang-tidy as part of the build.

As an aspect it knows each target's flags and generated headers, and Bazel runs it
again only for sources that changed, or whose headers did.
"""

_COMMON_FLAGS = [
    "-x",
    "c++",
    "-std=c++20",
    "-Wall",
    "-Wextra",
    # GCC has no such warning about designated initializers.
    "-Wno-missing-field-initializers",
]

def _compilation_context(target, ctx):
    deps = [dep[CcInfo] for dep in ctx.rule.attr.deps if CcInfo in dep]
    own = [target[CcInfo]] if CcInfo in target else []
    return cc_common.merge_cc_infos(cc_infos = own + deps).compilation_context

def _partition(folders, suffix):
    return (
        [folder for folder in folders if not folder.endswith(suffix)],
        [folder for folder in folders if folder.endswith(suffix)],
    )

def _clang_tidy_impl(target, ctx):
    if ctx.rule.kind not in ["cc_binary", "cc_library", "cc_test"]:
        return []

    rule = ctx.rule.attr
    context = _compilation_context(target, ctx)
    stamps = []
    for source in ctx.rule.files.srcs:
        if source.extension != "cc" or not source.is_source:
            continue
        stamp = ctx.actions.declare_file("_tidy/%s/%s" % (target.label.name, source.basename))
        args = ctx.actions.args()
        args.add_all([stamp, source])
        args.add_all(_COMMON_FLAGS)
        args.add_all([option for option in rule.copts if not option.startswith("-W")])
        args.add_all(rule.defines + rule.local_defines, format_each = "-D%s")
        args.add_all(context.defines, format_each = "-D%s")
        args.add_all(context.quote_includes, before_each = "-iquote")

        # What protoc writes is nobody's to mend. penstock_proto_library sees to the name.
        own, generated = _partition(context.includes.to_list(), "_proto")
        args.add_all(own, before_each = "-I")
        args.add_all(generated, before_each = "-isystem")
        args.add_all(context.system_includes, before_each = "-isystem")
        ctx.actions.run(
            executable = ctx.file._script,
            arguments = [args],
            inputs = depset(
                [source, ctx.file._config] + ctx.rule.files.srcs,
                transitive = [context.headers],
            ),
            outputs = [stamp],
            mnemonic = "ClangTidy",
            progress_message = "Checking %s" % source.short_path,
            use_default_shell_env = True,
        )
        stamps.append(stamp)
    return [OutputGroupInfo(clang_tidy = depset(stamps))]

clang_tidy = aspect(
    implementation = _clang_tidy_impl,
    doc = "Checks the sources of the C++ targets named on the command line.",
    attrs = {
        "_config": attr.label(
            default = "//:.clang-tidy",
            allow_single_file = True,
        ),
        "_script": attr.label(
            default = "//tools/lint:clang_tidy.sh",
            allow_single_file = True,
        ),
    },
)
