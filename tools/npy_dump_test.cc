#include "penstock/tools/npy_dump.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/memory/sim_device.h"

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

// Case D09: what is read back is there before it is read. Work of 50 ms stands before the copy.
TEST(NpyDumpTest, WaitsForWhatTheDeviceHasYetToDo) {
  const auto device = SimDevice::Create();
  SlabLayout layout;
  layout.batch = 1;
  layout.row = 1000;
  const auto pool = SeatPool::Create(device, layout, 1, HostMemory::kPinned).value();
  const auto upload = device->CreateStream().value(), compute = device->CreateStream().value();
  Seat* const seat = pool->TryAcquire();
  std::fill_n(seat->host, layout.row, std::byte{'p'});
  ASSERT_TRUE(device->Occupy(upload->ref(), absl::Milliseconds(50)).ok());
  ASSERT_TRUE(device->CopyToDevice(seat->device, seat->host, layout.row, upload->ref()).ok());
  auto ready = device->AcquireEvent().value();
  ASSERT_TRUE(ready->Record(upload->ref()).ok());
  TensorView rows;
  rows.data = seat->device;
  rows.dtype = kUint8;
  rows.shape = {1, 1000};
  BatchInfo info;
  info.ids = {0};
  DeviceBatch batch(pool, seat, std::move(info), std::move(ready), {{"rows", rows}});
  batch.WaitOn(compute->ref());
  ASSERT_EQ(NpyDump(device, testing::TempDir()).Write(batch, compute->ref()), absl::OkStatus());
  std::ifstream file(testing::TempDir() + "/e0000_b00000000.rows.npy", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), *NpyHeader(kUint8, rows.shape) + std::string(1000, 'p'));
}

}  // namespace
}  // namespace penstock
