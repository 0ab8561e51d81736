#include "penstock/memory/tensor_view.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(TensorView, CountsItemsAndBytes) {
  TensorView tensor;
  tensor.dtype = kFloat16;
  tensor.shape = {2, 3, 5};
  EXPECT_EQ(tensor.items(), 30);
  EXPECT_EQ(tensor.bytes(), 60);
  tensor.shape = {0, 3};
  EXPECT_EQ(tensor.bytes(), 0);
  tensor.shape = {};
  EXPECT_EQ(tensor.items(), 1);
}

TEST(TensorView, GivesTypedData) {
  int64_t label = 7;
  TensorView tensor;
  tensor.data = reinterpret_cast<std::byte*>(&label);
  EXPECT_EQ(*tensor.as<int64_t>(), 7);
}

TEST(RowMajorStrides, AreInItems) {
  EXPECT_EQ(RowMajorStrides({2, 3, 5}), (std::vector<int64_t>{15, 5, 1}));
  EXPECT_EQ(RowMajorStrides({4}), std::vector<int64_t>{1});
  EXPECT_TRUE(RowMajorStrides({}).empty());
}

TEST(DType, HasBytesAndAName) {
  EXPECT_EQ(ItemBytes(kUint8), 1);
  EXPECT_EQ(ItemBytes(kBfloat16), 2);
  EXPECT_EQ(ItemBytes(kInt64), 8);
  EXPECT_EQ(ItemBytes({kDLUInt, 1, 1}), 1);
  EXPECT_EQ(Name(kUint8), "uint8");
  EXPECT_EQ(Name(kInt64), "int64");
  EXPECT_EQ(Name(kFloat32), "float32");
  EXPECT_EQ(Name(kBfloat16), "bfloat16");
  EXPECT_EQ(Name({kDLFloat, 32, 4}), "float32x4");
  EXPECT_EQ(Name({kDLOpaqueHandle, 64, 1}), "opaque64");
}

TEST(DType, IsTheSameInAllThreeFields) {
  EXPECT_TRUE(Same(kFloat16, {kDLFloat, 16, 1}));
  EXPECT_FALSE(Same(kFloat16, kBfloat16));
  EXPECT_FALSE(Same(kInt32, kInt64));
  EXPECT_FALSE(Same(kFloat32, {kDLFloat, 32, 4}));
}

}  // namespace
}  // namespace penstock
