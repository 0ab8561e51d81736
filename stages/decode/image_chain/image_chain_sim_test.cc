// The forms of image chains on simulated devices give the host's bytes, and status instead of an
// error for a file that cannot be decoded.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/decode/image_chain/testing/chain_runner.h"
#include "penstock/stages/decode/image_chain/testing/image_chains.h"

namespace penstock {
namespace {

TEST(ImageChainSim, EqualsTheHostStagesForAllSequences) {
  const std::shared_ptr<SimDevice> device = SimDevice::Create();
  const std::vector<std::vector<std::byte>> files = SmallFiles(12, 90);
  for (const std::vector<ChainStage>& stages : AllImageChains()) {
    SCOPED_TRACE(ToString(stages));
    const ChainCase c = {.stages = stages, .files = files, .rows = {11, 3, 4, 0, 7, 8}};
    auto runner = ChainRunner::Create(c);
    ASSERT_TRUE(runner.ok()) << runner.status();
    const auto want = runner->RunHost(), got = runner->RunForm(*device);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->status, want->status);
    EXPECT_TRUE(got->bytes == want->bytes);
  }
}

TEST(ImageChainSim, ReportsDamagedFilesAndGoesOn) {
  const std::shared_ptr<SimDevice> device = SimDevice::Create();
  ChainCase c = {.stages = {{"DecodeImage", ""}, {"Resize", "size { height: 8 width: 9 }"}},
                 .files = SmallFiles(4, 90),
                 .rows = {0, 1, 3}};
  c.files[1].resize(c.files[1].size() / 2);
  auto runner = ChainRunner::Create(c);
  ASSERT_TRUE(runner.ok()) << runner.status();
  const auto got = runner->RunForm(*device);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->status, (std::vector<int32_t>{0, 1, 0, 0}));
  EXPECT_TRUE(device->status().ok()) << device->status();
}

TEST(ImageChainSim, LeavesPaddedCropsToTheHost) {
  const std::shared_ptr<SimDevice> device = SimDevice::Create();
  for (const char* options : {"height: 8 width: 8 padding: 2", "height: 8 width: 8 padding: [0, 1]",
                              "height: 8 width: 8 pad_if_needed: true"}) {
    const ChainCase c = {.stages = {{"DecodeImage", ""}, {"RandomCrop", options}},
                         .files = SmallFiles(2, 90),
                         .rows = {0, 1}};
    auto runner = ChainRunner::Create(c);
    ASSERT_TRUE(runner.ok()) << runner.status();
    EXPECT_EQ(runner->RunForm(*device).status().code(), absl::StatusCode::kNotFound);
  }
}

}  // namespace
}  // namespace penstock
