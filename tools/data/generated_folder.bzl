"""A folder whose files a program makes during the build.

    generated_folder(
        name = "photos",
        arguments = ["photos"],
        maker = ":make_sample_data",
    )

runs `make_sample_data photos FOLDER`. In the runfiles of what has ":photos" in its data,
the folder has the target's path.
"""

def _generated_folder_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run(
        executable = ctx.executable.maker,
        arguments = ctx.attr.arguments + [folder.path],
        outputs = [folder],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "MakeFolder",
        progress_message = "Making %s" % folder.short_path,
    )
    return [DefaultInfo(
        files = depset([folder]),
        runfiles = ctx.runfiles(files = [folder]),
    )]

generated_folder = rule(
    implementation = _generated_folder_impl,
    doc = "Declares a folder that `maker` fills.",
    attrs = {
        "arguments": attr.string_list(
            doc = "Before the folder's path, which comes last.",
        ),
        "maker": attr.label(
            mandatory = True,
            allow_single_file = True,
            cfg = "exec",
            doc = "A program, or a script that names its interpreter.",
            executable = True,
        ),
    },
)
