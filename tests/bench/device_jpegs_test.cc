// The device form of DecodeImage in batches of good files, damaged ones, and such that it leaves to
// the host, on the simulated device and on CUDA. Names like A39 are those of a collection of cases
// that other loaders failed.
#include "penstock/tests/bench/device_jpegs.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/memory/open_device.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"

namespace penstock {
namespace {

constexpr int64_t kMaxPixels = 1 << 24;

using Colour = JpegSample::Colour;

std::string Made(const JpegSample& sample) {
  const std::vector<std::byte> file = MakeJpeg(sample);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

std::string OfTwelveBits(std::string file) {
  file[file.find("\xFF\xC0") + 4] = 12;
  return file;
}

// Three quarters of it.
std::string Truncated(const std::string& file) { return file.substr(0, file.size() * 3 / 4); }

class DeviceJpegsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = OpenDevice(GetParam());
    if (!device.ok()) GTEST_SKIP() << device.status();
    auto jpegs = DeviceJpegs::Create(*std::move(device), kMaxPixels);
    ASSERT_TRUE(jpegs.ok()) << jpegs.status();
    jpegs_ = *std::move(jpegs);
  }

  // A task for all of `file`, which must live on.
  JpegTask Whole(const std::string& file) const {
    const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(file.data()),
                                            file.size());
    const auto size = jpegs_->Probe(bytes);
    EXPECT_TRUE(size.ok()) << size.status();
    return size.ok() ? JpegTask{bytes, *size, Region::Whole(*size)} : JpegTask{};
  }

  std::vector<JpegTask> Whole(const std::vector<std::string>& files) const {
    std::vector<JpegTask> tasks;
    for (const std::string& file : files) tasks.push_back(Whole(file));
    return tasks;
  }

  // Files that the device is to decode.
  void ExpectTheHostsPixels(const std::vector<std::string>& files) {
    const std::vector<JpegTask> tasks = Whole(files);
    const auto outcomes = jpegs_->Decode(tasks);
    ASSERT_TRUE(outcomes.ok()) << outcomes.status();
    for (size_t i = 0; i < files.size(); ++i) ExpectGood((*outcomes)[i], tasks[i], i);
  }

  void ExpectGood(const JpegOutcome& outcome, const JpegTask& task, size_t i) const {
    const HostJpeg host = jpegs_->DecodeOnHost(task);
    ASSERT_TRUE(host.status.ok()) << host.status;
    EXPECT_TRUE(outcome.taken) << i;
    EXPECT_EQ(outcome.status, 0) << i;
    EXPECT_TRUE(outcome.inside) << i;
    EXPECT_TRUE(std::equal(host.pixels.begin(), host.pixels.end(), outcome.pixels.begin(),
                           outcome.pixels.end()))
        << i;
  }

  std::unique_ptr<DeviceJpegs> jpegs_;
};

TEST_P(DeviceJpegsTest, A05GrayAndColourInOneBatch) {
  std::vector<std::string> files;
  for (const Colour colour : {Colour::kYcc, Colour::kGray, Colour::kYcc, Colour::kRgb}) {
    files.push_back(Made({.colour = colour, .h = 1, .v = 1}));
  }
  ExpectTheHostsPixels(files);
  const auto outcomes = jpegs_->Decode(Whole(files));
  ASSERT_TRUE(outcomes.ok());
  const absl::Span<const uint8_t> gray = (*outcomes)[1].pixels;
  ASSERT_EQ(gray.size(), 64 * 48 * 3);
  for (size_t i = 0; i < gray.size(); i += 3) {
    ASSERT_TRUE(gray[i] == gray[i + 1] && gray[i] == gray[i + 2]) << i;
  }
}

TEST_P(DeviceJpegsTest, A29BytesBehindTheEnd) {
  const std::string first = Made({.width = 100, .height = 75});
  const std::string second = Made({.width = 33, .height = 20, .h = 1, .v = 1});
  ExpectTheHostsPixels({first, first + std::string(1000, '\0') + "text", first + second});
  const auto outcomes = jpegs_->Decode(Whole({first, first + second}));
  ASSERT_TRUE(outcomes.ok());
  EXPECT_TRUE((*outcomes)[0].pixels == (*outcomes)[1].pixels);
}

// A18 and A39: of a batch, some are not for the device, and one is damaged. Nothing is delivered as
// decoded that is not, and nothing of a file gets into another's pixels.
TEST_P(DeviceJpegsTest, A39WhatIsNotDecodedIsToldAndLeftAlone) {
  std::vector<std::string> files;
  for (uint32_t i = 0; i < 32; ++i) {
    files.push_back(Made({.width = 60 + static_cast<int>(i),
                          .height = 100 - static_cast<int>(i),
                          .v = i % 2 == 0 ? 2 : 1,
                          .content = JpegSample::Content::kPhoto,
                          .seed = i}));
  }
  files[3] = Made({.colour = Colour::kCmyk});
  files[4] = Made({.width = 90, .height = 81, .progressive = true});
  files[17] = Made({.arithmetic = true});
  files[31] = Made({.width = 99, .height = 88, .scans = true});
  files[20] = Truncated(files[20]);
  const std::vector<JpegTask> tasks = Whole(files);
  const auto outcomes = jpegs_->Decode(tasks);
  ASSERT_TRUE(outcomes.ok()) << outcomes.status();
  for (const size_t i : {3, 4, 17, 31}) {
    const JpegOutcome& outcome = (*outcomes)[i];
    EXPECT_FALSE(outcome.taken) << i;
    EXPECT_TRUE(std::all_of(outcome.pixels.begin(), outcome.pixels.end(), [](uint8_t byte) {
      return byte == DeviceJpegs::kUnwritten;
    })) << i;
    EXPECT_TRUE(jpegs_->DecodeOnHost(tasks[i]).status.ok()) << i;
  }
  EXPECT_NE((*outcomes)[20].status, 0);
  EXPECT_FALSE(jpegs_->DecodeOnHost(tasks[20]).status.ok());
  for (size_t i = 0; i < files.size(); ++i) {
    if (i == 3 || i == 4 || i == 17 || i == 20 || i == 31) continue;
    ExpectGood((*outcomes)[i], tasks[i], i);
  }
}

// The header ends it, in the words of the host, before any device sees it.
TEST_P(DeviceJpegsTest, A26TwelveBits) {
  const std::string file = OfTwelveBits(Made({}));
  const auto size = jpegs_->Probe({reinterpret_cast<const std::byte*>(file.data()), file.size()});
  ASSERT_FALSE(size.ok());
  EXPECT_NE(size.status().message().find("precision 12"), absl::string_view::npos) << size.status();
}

INSTANTIATE_TEST_SUITE_P(On, DeviceJpegsTest, testing::Values("sim", "cuda:0"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

}  // namespace
}  // namespace penstock
