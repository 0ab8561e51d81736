"""The comments of .proto files, for a program that prints them.

    proto_manual(
        name = "stage_protos",
        deps = ["//stages"],
    )

is a cc_library with `penstock::StageProtos()` (tools/stage_protos.h): a serialized
FileDescriptorSet of every .proto below its deps, with comments.
"""

_Protos = provider(
    "What was found below a target.",
    fields = {"infos": "depset of ProtoInfo"},
)

def _collect_impl(target, ctx):
    own = [target[ProtoInfo]] if ProtoInfo in target else []
    below = [dep[_Protos].infos for dep in getattr(ctx.rule.attr, "deps", []) if _Protos in dep]
    return [_Protos(infos = depset(own, transitive = below))]

_collect = aspect(
    implementation = _collect_impl,
    doc = "Finds the .proto files behind C++ code.",
    attr_aspects = ["deps"],
)

def _descriptor_set_impl(ctx):
    infos = depset(transitive = [dep[_Protos].infos for dep in ctx.attr.deps]).to_list()
    out = ctx.actions.declare_file(ctx.label.name + ".bin")
    args = ctx.actions.args()
    args.add_all(depset(transitive = [i.transitive_proto_path for i in infos]), format_each = "-I%s")
    args.add_all(["--include_imports", "--include_source_info"])
    args.add("--descriptor_set_out", out)
    for info in infos:
        for source in info.direct_sources:
            # By the name that importers use.
            name = source.path
            if name.startswith(info.proto_source_root + "/"):
                name = name[len(info.proto_source_root) + 1:]
            args.add(name)
    ctx.actions.run(
        executable = ctx.executable._protoc,
        arguments = [args],
        inputs = depset(transitive = [i.transitive_sources for i in infos]),
        outputs = [out],
        mnemonic = "ProtoManual",
    )
    return [DefaultInfo(files = depset([out]))]

_descriptor_set = rule(
    implementation = _descriptor_set_impl,
    doc = "Writes a FileDescriptorSet, with comments, of all .proto files below deps.",
    attrs = {
        "deps": attr.label_list(aspects = [_collect]),
        "_protoc": attr.label(
            default = "@com_google_protobuf//:protoc",
            executable = True,
            cfg = "exec",
        ),
    },
)

# A string literal would stop at no limit of the language, but at the compiler's.
_EMBED = """{
echo '#include "penstock/tools/stage_protos.h"'
echo 'namespace penstock {'
echo 'namespace {'
echo 'constexpr unsigned char kBytes[] = {'
od -An -v -tu1 $< | sed 's/\\([0-9]\\{1,\\}\\)/\\1,/g'
echo '};'
echo '}  // namespace'
echo 'absl::string_view StageProtos() {'
echo '  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)};'
echo '}'
echo '}  // namespace penstock'
} > $@"""

def proto_manual(name, deps, **kwargs):
    """Declares a cc_library that holds the .proto files below `deps`.

    Args:
      name: the target.
      deps: C++ libraries or proto_library targets.
      **kwargs: as cc_library's.
    """
    _descriptor_set(
        name = name + "_descriptors",
        deps = deps,
    )
    native.genrule(
        name = name + "_source",
        srcs = [":%s_descriptors" % name],
        outs = [name + "_embedded.cc"],
        cmd = _EMBED,
    )
    native.cc_library(
        name = name,
        srcs = [":%s_source" % name],
        deps = [str(Label("//tools:stage_protos_interface"))],
        **kwargs
    )
