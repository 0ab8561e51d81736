"""One relocatable archive of programs, graphs, data sets and shared libraries."""

def _file_of(target):
    return target[DefaultInfo].files.to_list()

def _bundle_impl(ctx):
    lines = []
    inputs = list(ctx.files.programs) + [ctx.file.readme]
    for program in ctx.attr.programs:
        executable = program[DefaultInfo].files_to_run.executable
        lines.append("program\t%s\t%s" % (executable.basename, executable.path))
        inputs.append(executable)
    for graph, sample in ctx.attr.graphs.items():
        file = _file_of(graph)[0]
        lines.append("graph\t%s\t%s\t%s" % (file.basename, file.path, sample))
        inputs.append(file)
    for data in ctx.attr.data:
        root = "/".join([part for part in [data.label.package, data.label.name] if part]) + "/"
        for file in _file_of(data):
            # A folder that a rule has made, or one of the files in a folder of that name.
            path = file.short_path[len(root):] if file.short_path.startswith(root) else ""
            lines.append("data\t%s/%s\t%s" % (data.label.name, path, file.path))
            inputs.append(file)
    for file in ctx.files.bench:
        lines.append("bench\t%s\t%s" % (file.basename, file.path))
        inputs.append(file)
    lines.append("readme\tREADME.txt\t%s" % ctx.file.readme.path)

    manifest = ctx.actions.declare_file(ctx.label.name + ".manifest")
    ctx.actions.write(manifest, "\n".join(lines) + "\n")
    archive = ctx.actions.declare_file(ctx.label.name + ".tar.gz")
    ctx.actions.run(
        executable = ctx.executable._pack,
        arguments = [manifest.path, archive.path],
        inputs = inputs + [manifest],
        outputs = [archive],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "Bundle",
        progress_message = "Packing %s" % archive.short_path,
    )
    return [DefaultInfo(
        files = depset([archive]),
        runfiles = ctx.runfiles(files = [archive]),
    )]

bundle = rule(
    implementation = _bundle_impl,
    doc = "Packs NAME.tar.gz, whose only folder is penstock/.",
    attrs = {
        "bench": attr.label_list(
            allow_files = True,
            doc = "Scripts that check and measure what is in the bundle.",
        ),
        "data": attr.label_list(
            allow_files = True,
            doc = "Data sets: each a folder, or files in a folder of the target's name.",
        ),
        "graphs": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Graph -> the name of the data set that it runs on by default.",
        ),
        "programs": attr.label_list(
            cfg = "target",
            doc = "Executables; their run path must be $ORIGIN/../lib.",
        ),
        "readme": attr.label(
            mandatory = True,
            allow_single_file = True,
        ),
        "_pack": attr.label(
            default = "//tools/bundle:pack",
            executable = True,
            cfg = "exec",
        ),
    },
)
