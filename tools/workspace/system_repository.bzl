"""A repository made of a library that the operating system has installed.

Nothing is downloaded: pkg-config finds the library and says how to link it, and
the headers become symbolic links, so that the rest of the build sees an ordinary
external repository with upstream's labels.
"""

load(":box.bzl", "boxed")

def write_found(ctx, linkopts = {}):
    """Writes found.bzl for a library that is there.

    Args:
      ctx: the repository's context.
      linkopts: dict from pkg-config module (or any key that the repository's BUILD
        file uses) to its list of link options.
    """
    ctx.file("found.bzl", "MISSING = False\n\nLINKOPTS = %s\n" % repr(linkopts))
    ctx.file("missing.txt", "")

def write_missing(ctx, lines):
    """Writes found.bzl for a library that is not there.

    The repository stays valid and keeps its targets, so that whatever does not need
    them still builds; whatever does need them fails and shows `lines`.

    Args:
      ctx: the repository's context.
      lines: list of strings, shown in a box.
    """
    ctx.file("found.bzl", "MISSING = True\n\nLINKOPTS = {}\n")
    ctx.file("missing.txt", boxed(lines))

def link_files(ctx):
    """Links the files that `ctx.attr.files` names, and package.bzl, into the repository."""
    ctx.symlink(Label("//tools/workspace:package.bzl"), "package.bzl")
    for path, label in ctx.attr.files.items():
        ctx.symlink(Label(label), path)

def apt_advice(package):
    """Returns the lines that say how to install a Debian package."""
    return [
        "Install it:  apt-get install %s && bazel shutdown" % package,
        "or build through tools/bazelw, which installs whatever is missing.",
    ]

FILES_ATTR = attr.string_dict(
    mandatory = True,
    doc = "Path in the repository -> label of the file of ours that it links to.",
)

def _linkopts(ctx, pkg_config, module):
    stdout = ctx.execute([pkg_config, "--libs", module]).stdout
    libs = [option for option in stdout.strip().split(" ") if option]

    # A module names every library below it. Only those that an object really uses
    # shall be loaded at run time.
    return ["-Wl,--push-state,--as-needed"] + libs + ["-Wl,--pop-state"] if libs else []

def _system_repository_impl(ctx):
    link_files(ctx)
    wanted = ["%s >= %s" % module for module in ctx.attr.modules.items()]

    # The system's programs, even where PATH has others: a protoc of another version
    # writes code that the system's library does not compile.
    pkg_config = ctx.path("/usr/bin/pkg-config")
    programs = {name: ctx.path("/usr/bin/" + name) for name in ctx.attr.programs}
    for program in [pkg_config] + programs.values():
        if not program.exists:
            package = "pkg-config" if program == pkg_config else ctx.attr.apt
            write_missing(ctx, ["%s is missing." % program] + apt_advice(package))
            return

    check = ctx.execute([pkg_config, "--print-errors", "--short-errors", "--exists"] + wanted)
    if check.return_code:
        found = check.stderr.replace(", required by 'virtual:world'", "").strip().split("\n")
        write_missing(ctx, [
            "@%s needs the package %s, at least %s:" % (
                ctx.name,
                ctx.attr.apt,
                wanted[0].split(" >= ")[1],
            ),
        ] + found[:3] + apt_advice(ctx.attr.apt))
        return

    first = ctx.attr.modules.keys()[0]
    include = ctx.execute([pkg_config, "--variable=includedir", first]).stdout.strip()
    include = include or "/usr/include"  # Some modules have headers alone, and no variables.
    for header in ctx.attr.headers:
        ctx.symlink("%s/%s" % (include, header), "include/" + header)
    for name, program in programs.items():
        ctx.symlink(program, "bin/" + name)
    write_found(ctx, {
        module: _linkopts(ctx, pkg_config, module)
        for module in ctx.attr.modules
    })

system_repository = repository_rule(
    implementation = _system_repository_impl,
    doc = "A library from the operating system, found by pkg-config.",
    # Looked for again whenever a Bazel server starts.
    local = True,
    environ = ["PKG_CONFIG_PATH"],
    attrs = {
        "apt": attr.string(
            mandatory = True,
            doc = "The Debian package that has it.",
        ),
        "files": FILES_ATTR,
        "headers": attr.string_list(
            doc = "Files and folders below the include folder, to link into include/.",
        ),
        "modules": attr.string_dict(
            mandatory = True,
            doc = "pkg-config module -> the oldest version that will do.",
        ),
        "programs": attr.string_list(
            doc = "Programs of the package, to link into bin/.",
        ),
    },
)
