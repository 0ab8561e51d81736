"""@libjpeg_turbo from Debian's libjpeg62-turbo-dev."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def libjpeg_turbo_repository(name):
    """Declares @libjpeg_turbo//:jpeg.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "libjpeg62-turbo-dev",
        files = {"BUILD.bazel": "//tools/workspace/libjpeg_turbo:package.BUILD.bazel"},
        headers = [
            "jerror.h",
            "jmorecfg.h",
            "jpeglib.h",
        ],
        modules = {"libjpeg": "2.1"},
    )
