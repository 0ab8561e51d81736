// The planes against libjpeg's, byte for byte, and the status against the host decoder's verdict.
// Skips itself where there is no CUDA device.
#include "penstock/stages/decode/jpeg_cuda/jpeg_decoder_cuda.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_call.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"
#include "penstock/stages/decode/jpeg_decoder.h"

namespace penstock {
namespace {

struct Image {
  std::string name;
  std::vector<std::byte> file;
  Region region;  // Empty: the whole image.
  bool is_damaged = false;
  bool has_common_hash = false;  // Of its tables, with others that have this.
};

// Of host and device.
struct Verdicts {
  int damaged = 0, sound = 0, only_device = 0, refused = 0;
};

class JpegDecoderCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create(0);
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  // Decodes them in one call. Images that are not damaged must be exact; for damaged ones the
  // device may be stricter than the host, but what it takes must be exact too.
  void Check(std::vector<Image> images, Verdicts& verdicts);
  void CheckExact(std::vector<Image> images) {
    Verdicts verdicts;
    Check(std::move(images), verdicts);
  }

  std::shared_ptr<CudaDevice> device_;
};

bool HostDecodes(const Image& image) {
  std::vector<uint8_t> pixels(static_cast<size_t>(image.region.area()) * 3);
  JpegDecoder decoder;
  return decoder.Decode(image.file, image.region, pixels.data()).ok();
}

// The region within an image of `size`; the whole of it for an empty one.
Region Fit(const Region& region, ImageSize size) {
  const Region fit = region.ClippedTo(size);
  return fit.empty() ? Region::Whole(size) : fit;
}

void JpegDecoderCudaTest::Check(std::vector<Image> images, Verdicts& verdicts) {
  std::vector<JpegCall::Input> inputs;
  std::vector<const Image*> taken;
  for (Image& image : images) {
    JpegCall::Input input;
    input.file = image.file;
    if (!DescribeJpeg(image.file, input.descriptor)) {
      EXPECT_TRUE(image.is_damaged) << image.name;
      ++verdicts.refused;
      continue;
    }
    if (image.has_common_hash) input.descriptor.tables_hash = 1;
    image.region = Fit(image.region, {input.descriptor.height, input.descriptor.width});
    input.region = image.region;
    input.shift = inputs.size() * 5 % 16;
    inputs.push_back(input);
    taken.push_back(&image);
  }
  if (inputs.empty()) return;
  auto call = JpegCall::Create(device_, inputs);
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_TRUE((*call)->Enqueue().ok());
  ASSERT_TRUE((*call)->Fetch().ok());
  for (size_t row = 0; row < taken.size(); ++row) {
    const Image& image = *taken[row];
    const int32_t status = (*call)->status()[row];
    EXPECT_EQ((*call)->planes()[row].damaged, static_cast<uint32_t>(status)) << image.name;
    if (image.is_damaged) {
      const bool host_decodes = HostDecodes(image);
      ++(host_decodes ? verdicts.sound : verdicts.damaged);
      if (host_decodes && status != 0) ++verdicts.only_device;
      EXPECT_TRUE(host_decodes || status != 0) << image.name;
      if (status != 0) continue;
    }
    EXPECT_EQ(status, 0) << image.name;
    EXPECT_EQ(ComparePlanes((*call)->planes()[row], image.region, ReadRawPlanes(image.file),
                            (*call)->memory(), (*call)->memory_address()),
              "")
        << image.name;
  }
}

constexpr int kSamplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
constexpr JpegSample::Content kContents[] = {
    JpegSample::Content::kHills, JpegSample::Content::kNoise, JpegSample::Content::kEdges};

Image Make(const JpegSample& sample, const Region& region = {}) {
  return {.name = absl::StrCat(sample.ToString(), " region ", region.y, " ", region.x, " ",
                               region.height, " ", region.width),
          .file = MakeJpeg(sample),
          .region = region};
}

JpegSample RandomSample(std::mt19937& random, int largest) {
  JpegSample sample;
  const auto& sampling = kSamplings[random() % std::size(kSamplings)];
  sample.width = 1 + static_cast<int>(random() % largest);
  sample.height = 1 + static_cast<int>(random() % largest);
  const bool is_gray = random() % 5 == 0;
  sample.h = sampling[0];
  sample.v = sampling[1];
  sample.quality = 1 + static_cast<int>(random() % 100);
  constexpr int kIntervals[] = {0, 0, 0, 1, 3, 7, 20, 100};
  sample.restart_interval = kIntervals[random() % std::size(kIntervals)];
  sample.optimised = random() % 2 != 0;
  if (is_gray) {
    sample.colour = JpegSample::Colour::kGray;
  } else if (random() % 6 == 0) {
    sample.colour = JpegSample::Colour::kRgb;
  }
  sample.content = kContents[random() % std::size(kContents)];
  sample.seed = static_cast<uint32_t>(random());
  return sample;
}

Region RandomRegion(std::mt19937& random, const JpegSample& sample) {
  Region region;
  region.y = static_cast<int32_t>(random() % sample.height);
  region.x = static_cast<int32_t>(random() % sample.width);
  region.height = 1 + static_cast<int32_t>(random() % (sample.height - region.y));
  region.width = 1 + static_cast<int32_t>(random() % (sample.width - region.x));
  return region;
}

TEST_F(JpegDecoderCudaTest, EverySamplingAndSmallSize) {
  for (const auto& sampling : kSamplings) {
    std::vector<Image> images;
    for (int height : {1, 2, 7, 8, 9, 15, 16, 17, 33}) {
      for (int width : {1, 2, 3, 8, 9, 16, 17, 31, 32, 33, 65}) {
        images.push_back(
            Make({.width = width, .height = height, .h = sampling[0], .v = sampling[1]}));
        images.push_back(Make({.width = width,
                               .height = height,
                               .colour = JpegSample::Colour::kGray,
                               .h = sampling[0],
                               .v = sampling[1]}));
      }
    }
    CheckExact(std::move(images));
  }
}

TEST_F(JpegDecoderCudaTest, EveryQualityAndTable) {
  std::vector<Image> images;
  for (int quality = 1; quality <= 100; ++quality) {
    for (const auto content : kContents) {
      images.push_back(Make({.width = 150,
                             .height = 110,
                             .quality = quality,
                             .optimised = quality % 2 != 0,
                             .content = content,
                             .seed = static_cast<uint32_t>(quality)}));
    }
  }
  CheckExact(std::move(images));
}

TEST_F(JpegDecoderCudaTest, EveryRestartInterval) {
  std::vector<Image> images;
  for (const int interval : {1, 2, 3, 7, 8, 9, 16, 31, 32, 33, 100, 192, 193, 500, 65535}) {
    for (const auto& sampling : kSamplings) {
      images.push_back(Make({.width = 333,
                             .height = 222,
                             .h = sampling[0],
                             .v = sampling[1],
                             .restart_interval = interval}));
    }
    images.push_back(Make({.width = 400,
                           .height = 300,
                           .colour = JpegSample::Colour::kGray,
                           .h = 1,
                           .v = 1,
                           .restart_interval = interval,
                           .content = JpegSample::Content::kNoise}));
  }
  CheckExact(std::move(images));
}

TEST_F(JpegDecoderCudaTest, LargeImages) {
  CheckExact(
      {Make({.width = 4000, .height = 3000}),
       Make({.width = 3000, .height = 2000, .content = JpegSample::Content::kNoise}),
       Make({.width = 2500, .height = 1900, .restart_interval = 1}),
       Make({.width = 4000, .height = 3000, .quality = 95}, {1500, 2000, 300, 200}),
       Make({.width = 20000, .height = 40, .colour = JpegSample::Colour::kGray, .h = 1, .v = 1}),
       Make({.width = 3, .height = 20000})});
}

TEST_F(JpegDecoderCudaTest, ManyRandomImagesAndRegions) {
  // The same draws in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937 random(7);
  for (int round = 0; round < 6; ++round) {
    std::vector<Image> images;
    for (int i = 0; i < 300; ++i) {
      const JpegSample sample = RandomSample(random, i % 10 == 0 ? 600 : 120);
      const Region region = i % 3 == 0 ? Region{} : RandomRegion(random, sample);
      images.push_back(Make(sample, region));
    }
    CheckExact(std::move(images));
  }
}

TEST_F(JpegDecoderCudaTest, MoreImagesThanTheLayoutHasThreads) {
  std::vector<Image> images;
  for (int i = 0; i < 2500; ++i) {
    images.push_back(Make({.width = 20 + i % 7,
                           .height = 10 + i % 11,
                           .quality = 20 + i % 70,
                           .optimised = i % 2 != 0,
                           .seed = static_cast<uint32_t>(i)}));
  }
  CheckExact(std::move(images));
}

TEST_F(JpegDecoderCudaTest, EqualHashesOfDifferentTables) {
  std::vector<Image> images;
  for (int i = 0; i < 40; ++i) {
    images.push_back(
        Make({.quality = 10 + i * 2, .optimised = i % 4 != 0, .content = kContents[i % 3]}));
    images.back().has_common_hash = true;
  }
  CheckExact(std::move(images));
}

// One of many ways to damage the bytes from `first` on.
void Damage(std::mt19937& random, size_t first, std::vector<std::byte>& file) {
  const auto somewhere = [&] { return first + random() % (file.size() - first); };
  const auto flip = [&](int count) {
    for (int i = 0; i < count; ++i) file[somewhere()] ^= std::byte{1} << (random() % 8);
  };
  const auto marker = [&] { return static_cast<std::byte>(0xD0 + random() % 8); };
  switch (random() % 7) {
    case 0:
      file.resize(somewhere());
      break;
    case 1:
      flip(1);
      break;
    case 2:
      flip(40);
      break;
    case 3:
      for (size_t i = somewhere(); i < file.size(); ++i) file[i] = std::byte(random());
      break;
    case 4: {
      const auto at = file.begin() + static_cast<ptrdiff_t>(somewhere());
      file.erase(at, at + std::min<ptrdiff_t>(random() % 30, file.end() - at));
      break;
    }
    case 5: {
      const std::byte bytes[] = {std::byte{0xFF}, random() % 2 == 0 ? std::byte{0xFF} : marker(),
                                 marker()};
      file.insert(file.begin() + static_cast<ptrdiff_t>(somewhere()), bytes, std::end(bytes));
      break;
    }
    default:
      std::fill(file.begin() + static_cast<ptrdiff_t>(somewhere()), file.end(), std::byte{0xFF});
  }
}

TEST_F(JpegDecoderCudaTest, DamagedImagesAreSeenAndHarmNoOthers) {
  // The same draws in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937 random(11);
  Verdicts verdicts;
  for (int round = 0; round < 10; ++round) {
    std::vector<Image> images;
    for (int i = 0; i < 400; ++i) {
      const JpegSample sample = RandomSample(random, 150);
      Image image = Make(sample, i % 3 == 0 ? Region{} : RandomRegion(random, sample));
      JpegDescriptor descriptor;
      ASSERT_TRUE(DescribeJpeg(image.file, descriptor));
      image.is_damaged = i % 2 != 0;
      if (image.is_damaged) Damage(random, i % 7 == 0 ? 2 : descriptor.scan, image.file);
      image.name += absl::StrCat(" round ", round, " image ", i);
      images.push_back(std::move(image));
    }
    Check(std::move(images), verdicts);
  }
  EXPECT_GT(verdicts.damaged, 500);
  EXPECT_GT(verdicts.sound, 100);
  EXPECT_GT(verdicts.refused, 10);
  // What the host takes after all costs time: it is to be rare.
  EXPECT_LT(verdicts.only_device, 200);
}

}  // namespace
}  // namespace penstock
