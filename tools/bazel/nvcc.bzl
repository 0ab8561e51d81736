"""The rule below cuda_library: it compiles .cu files and gives an ordinary CcInfo."""

load("@bazel_tools//tools/config:common_settings.bzl", "BuildSettingInfo")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _gencode_flags(archs):
    # Grouped by architecture, as nvcc then runs its front end once for machine code
    # and PTX of the same one.
    codes = {}
    for arch in archs.split(","):
        number, _, kind = arch.strip().partition("-")
        if kind not in ["", "virtual"]:
            fail("cuda_archs: '%s' is neither like '90' nor like '90-virtual'" % arch)
        code = ("compute_" if kind else "sm_") + number
        codes.setdefault(number, []).append(code)
    return [
        "-gencode=arch=compute_%s,code=[%s]" % (number, ",".join(code))
        for number, code in codes.items()
    ]

def _optimization_flags(mode):
    return {
        "dbg": ["-g", "-lineinfo"],
        "fastbuild": [],
        "opt": ["-O3", "-DNDEBUG", "-lineinfo"],
    }[mode]

def _compile(ctx, src, headers, compilation_context, cc_toolchain):
    archs = ctx.attr._archs[BuildSettingInfo].value
    object = ctx.actions.declare_file("_nvcc/%s/%s.o" % (ctx.label.name, src.basename))

    args = ctx.actions.args()
    args.add_all(["-x", "cu", "-std=c++20", "-ccbin", cc_toolchain.compiler_executable])

    # The same bytes on host and device: neither side fuses a multiplication with an
    # addition unless the code says so.
    args.add_all(["--fmad=false", "-Xcompiler=-ffp-contract=off,-fPIC"])
    args.add_all(_gencode_flags(archs))
    args.add_all(_optimization_flags(ctx.var["COMPILATION_MODE"]))
    args.add_all(compilation_context.defines, format_each = "-D%s")
    args.add_all(compilation_context.quote_includes, format_each = "-Xcompiler=-iquote,%s")
    args.add_all(compilation_context.includes, before_each = "-I")
    args.add_all(compilation_context.system_includes, before_each = "-isystem")
    args.add_all(ctx.attr.copts)
    args.add("-c", src)
    args.add("-o", object)

    ctx.actions.run(
        executable = ctx.file._nvcc,
        arguments = [args],
        inputs = depset(
            [src] + headers,
            transitive = [compilation_context.headers, cc_toolchain.all_files],
        ),
        tools = ctx.files._nvcc_files,
        outputs = [object],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "NvccCompile",
        progress_message = "Compiling %s for CUDA %s" % (src.short_path, archs),
    )
    return object

def _nvcc_library_impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])

    headers = [src for src in ctx.files.srcs if src.extension != "cu"]
    objects = depset([
        _compile(ctx, src, headers, deps.compilation_context, cc_toolchain)
        for src in ctx.files.srcs
        if src.extension == "cu"
    ])
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = objects,
            pic_objects = objects,
        ),
        linking_contexts = [deps.linking_context],
        alwayslink = ctx.attr.alwayslink,
        disallow_dynamic_library = True,
    )
    return [
        CcInfo(
            compilation_context = deps.compilation_context,
            linking_context = linking_context,
        ),
        DefaultInfo(files = objects),
    ]

nvcc_library = rule(
    implementation = _nvcc_library_impl,
    doc = "Compiles CUDA sources. Use cuda_library, which adds headers and the runtime.",
    attrs = {
        "alwayslink": attr.bool(),
        "copts": attr.string_list(
            doc = "Options of nvcc.",
        ),
        "deps": attr.label_list(providers = [CcInfo]),
        "srcs": attr.label_list(allow_files = [".cu", ".cuh", ".h", ".inc"]),
        "_archs": attr.label(default = "//tools/bazel:cuda_archs"),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
        "_nvcc": attr.label(
            default = "@cuda//:nvcc",
            allow_single_file = True,
        ),
        "_nvcc_files": attr.label(
            default = "@cuda//:nvcc_files",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
