// Element types, as DLPack's DLDataType (https://dmlc.github.io/dlpack/latest/c_api.html).
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <string>

namespace penstock {

inline constexpr DLDataType kUint8 = {kDLUInt, 8, 1};
inline constexpr DLDataType kInt32 = {kDLInt, 32, 1};
inline constexpr DLDataType kInt64 = {kDLInt, 64, 1};
inline constexpr DLDataType kFloat16 = {kDLFloat, 16, 1};
inline constexpr DLDataType kBfloat16 = {kDLBfloat, 16, 1};
inline constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};

// A named function and no operator==: the type is DLPack's, and other users of it may have theirs.
constexpr bool Same(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

constexpr int64_t ItemBytes(DLDataType type) { return (int64_t{type.bits} * type.lanes + 7) / 8; }

// "uint8", "float16", "bfloat16", ...
std::string Name(DLDataType type);

}  // namespace penstock
