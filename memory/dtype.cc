#include "penstock/memory/dtype.h"

#include "absl/strings/str_cat.h"

namespace penstock {

std::string Name(DLDataType type) {
  const char* kind = "opaque";
  switch (type.code) {
    case kDLInt:
      kind = "int";
      break;
    case kDLUInt:
      kind = "uint";
      break;
    case kDLFloat:
      kind = "float";
      break;
    case kDLBfloat:
      kind = "bfloat";
      break;
    default:
      break;
  }
  std::string name = absl::StrCat(kind, static_cast<int>(type.bits));
  if (type.lanes != 1) absl::StrAppend(&name, "x", static_cast<int>(type.lanes));
  return name;
}

}  // namespace penstock
