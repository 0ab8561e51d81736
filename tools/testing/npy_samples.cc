// npy_samples DIR: writes DIR/TYPE,SHAPE.npy for every type and some shapes; byte i of the items is
// i % 251. A test compares them with what numpy writes.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/check.h"
#include "penstock/tools/files.h"
#include "penstock/tools/npy_dump.h"

namespace penstock {
namespace {

void WriteSamples(const std::string& folder) {
  const std::vector<std::vector<int64_t>> shapes = {{}, {3}, {2, 0, 4}, {5, 3, 32, 32}};
  for (const DLDataType dtype : {kUint8, kInt32, kInt64, kFloat16, kBfloat16, kFloat32}) {
    for (const std::vector<int64_t>& shape : shapes) {
      const absl::StatusOr<std::string> header = NpyHeader(dtype, shape);
      PENSTOCK_CHECK(header.ok(), header.status().ToString());
      TensorView view;
      view.dtype = dtype;
      view.shape = shape;
      std::string items;
      for (int64_t i = 0; i < view.bytes(); ++i) items.push_back(static_cast<char>(i % 251));
      const std::string path =
          absl::StrCat(folder, "/", Name(dtype), ",", absl::StrJoin(shape, ","), ".npy");
      const absl::Status written = WriteFile(path, {*header, items});
      PENSTOCK_CHECK(written.ok(), written.ToString());
    }
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  PENSTOCK_CHECK(argc == 2, "usage: npy_samples DIR");
  penstock::WriteSamples(argv[1]);
}
