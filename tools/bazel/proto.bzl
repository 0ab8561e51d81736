"""Protocol buffers of this workspace."""

def penstock_proto_library(name, srcs, deps = [], visibility = ["//:__subpackages__"], **kwargs):
    """Declares a proto_library and its C++ code.

    Files are imported as "penstock/<folder>/x.proto" and included as
    "penstock/<folder>/x.pb.h". `x_proto` is for other protos, `x_cc_proto` for C++.

    Args:
      name: the target; ends in "_proto".
      srcs: .proto files of this folder.
      deps: other proto_library targets, such as "@com_google_protobuf//:any_proto".
      visibility: everything in this workspace, and nothing else, unless stated.
      **kwargs: for both targets: testonly, tags.
    """
    if not name.endswith("_proto"):
        fail("%s: the name of a penstock_proto_library ends in _proto" % name)
    native.proto_library(
        name = name,
        srcs = srcs,
        import_prefix = "penstock",
        strip_import_prefix = "/",
        visibility = visibility,
        deps = deps,
        **kwargs
    )
    native.cc_proto_library(
        name = name[:-len("_proto")] + "_cc_proto",
        visibility = visibility,
        deps = [":" + name],
        **kwargs
    )
