"""@com_google_protobuf from Debian's libprotobuf-dev and protobuf-compiler."""

load("//tools/workspace:system_repository.bzl", "system_repository")

def protobuf_repository(name):
    """Declares @com_google_protobuf: the libraries, the well-known types and protoc.

    Args:
      name: the repository.
    """
    system_repository(
        name = name,
        apt = "libprotobuf-dev protobuf-compiler",
        files = {"BUILD.bazel": "//tools/workspace/protobuf:package.BUILD.bazel"},
        headers = ["google/protobuf"],
        modules = {
            "protobuf": "3.21",
            "protobuf-lite": "3.21",
        },
        programs = ["protoc"],
    )
