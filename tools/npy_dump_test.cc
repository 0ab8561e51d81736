#include "penstock/tools/npy_dump.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(NpyHeaderTest, IsPaddedToAlignment) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {1}, {7, 1000000000}, {256, 3, 224, 224}}) {
    const auto header = NpyHeader(kFloat32, shape);
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->size() % 64, 0u);
    EXPECT_EQ(header->back(), '\n');
    const auto* bytes = reinterpret_cast<const unsigned char*>(header->data());
    EXPECT_EQ(header->substr(0, 6), "\x93NUMPY");
    EXPECT_EQ(bytes[6], 1);
    EXPECT_EQ(bytes[8] + 256u * bytes[9], header->size() - 10);
  }
}

TEST(NpyHeaderTest, Shapes) {
  EXPECT_NE(NpyHeader(kUint8, {})->find("'shape': (), }"), std::string::npos);
  EXPECT_NE(NpyHeader(kUint8, {8})->find("'shape': (8,), }"), std::string::npos);
  EXPECT_NE(NpyHeader(kUint8, {8, 3})->find("'shape': (8, 3), }"), std::string::npos);
}

TEST(NpyHeaderTest, Types) {
  const std::pair<DLDataType, const char*> types[] = {{kUint8, "'|u1'"},    {kInt32, "'<i4'"},
                                                      {kInt64, "'<i8'"},    {kFloat16, "'<f2'"},
                                                      {kBfloat16, "'<u2'"}, {kFloat32, "'<f4'"}};
  for (const auto& [dtype, name] : types) {
    EXPECT_NE(NpyHeader(dtype, {1})->find(name), std::string::npos) << name;
  }
}

TEST(NpyHeaderTest, RefusesWhatNumpyHasNot) {
  EXPECT_EQ(NpyHeader({kDLInt, 4, 1}, {1}).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(NpyHeader({kDLFloat, 32, 4}, {1}).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace penstock
