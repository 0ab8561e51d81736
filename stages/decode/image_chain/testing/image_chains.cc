#include "penstock/stages/decode/image_chain/testing/image_chains.h"

#include "absl/strings/str_cat.h"
#include "penstock/memory/check.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"
#include "penstock/stages/random.h"

namespace penstock {
namespace {

constexpr char kMeans[] = "mean: [0.485, 0.456, 0.406] std: [0.229, 0.224, 0.225]";

// By itself, and with what may follow.
void AddWithTails(const std::vector<ChainStage>& geometry,
                  std::vector<std::vector<ChainStage>>& chains) {
  const ChainStage flip = {"RandomHorizontalFlip", "probability: 0.5"};
  const ChainStage half = {"Normalize", absl::StrCat(kMeans, " dtype: FLOAT16")};
  const ChainStage interleaved = {"Normalize", absl::StrCat(kMeans, " layout: NHWC")};
  for (const std::vector<ChainStage>& tail :
       std::vector<std::vector<ChainStage>>{{}, {flip}, {interleaved}, {flip, half}}) {
    std::vector<ChainStage>& chain = chains.emplace_back();
    chain.push_back({"DecodeImage", ""});
    chain.insert(chain.end(), geometry.begin(), geometry.end());
    chain.insert(chain.end(), tail.begin(), tail.end());
  }
}

}  // namespace

std::vector<std::vector<ChainStage>> AllImageChains() {
  std::vector<std::vector<ChainStage>> chains = {{{"DecodeImage", ""}}};
  for (const char* method :
       {"", "antialias: false", "interpolation: BICUBIC", "interpolation: NEAREST"}) {
    const auto with = [method](const char* options) { return absl::StrCat(options, " ", method); };
    AddWithTails({{"RandomResizedCrop", with("height: 56 width: 48")}}, chains);
    AddWithTails({{"Resize", with("size { height: 31 width: 45 }")}}, chains);
    AddWithTails({{"Resize", with("shorter_edge: 40")}, {"CenterCrop", "height: 36 width: 33"}},
                 chains);
    AddWithTails({{"Resize", with("longer_edge: 40")}, {"CenterCrop", "height: 44 width: 30"}},
                 chains);
    AddWithTails({{"Resize", with("shorter_edge: 40")}, {"RandomCrop", "height: 32 width: 40"}},
                 chains);
  }
  AddWithTails({{"CenterCrop", "height: 40 width: 61"}}, chains);
  AddWithTails({{"RandomCrop", "height: 1 width: 1"}}, chains);
  return chains;
}

std::vector<std::vector<std::byte>> SmallFiles(int count, int most) {
  using Colour = JpegSample::Colour;
  struct Sampling {
    Colour colour;
    int h, v;
  };
  constexpr Sampling kSamplings[] = {{Colour::kYcc, 2, 2}, {Colour::kYcc, 1, 1},
                                     {Colour::kYcc, 2, 1}, {Colour::kYcc, 1, 2},
                                     {Colour::kYcc, 4, 1}, {Colour::kGray, 1, 1}};
  Random random({.seed = static_cast<uint64_t>(most)}, 1);
  std::vector<std::vector<std::byte>> files;
  for (int i = 0; i < count; ++i) {
    const Sampling& sampling = kSamplings[i % std::size(kSamplings)];
    const bool tiny = i % 3 == 2;
    const auto side = [&] {
      return tiny ? 1 + random.Uniform(31) : 32 + random.Uniform(std::max(1, most - 31));
    };
    JpegSample sample;
    sample.width = side();
    sample.height = side();
    const bool is_rgb = sampling.colour == Colour::kYcc && i % 7 == 3;
    sample.colour = is_rgb ? Colour::kRgb : sampling.colour;
    sample.h = sampling.h;
    sample.v = sampling.v;
    sample.quality = 50 + random.Uniform(50);
    sample.restart_interval = i % 5 == 0 ? 2 : 0;
    sample.optimised = i % 2 == 0;
    sample.content = i % 4 == 1 ? JpegSample::Content::kNoise : JpegSample::Content::kHills;
    sample.seed = static_cast<uint32_t>(i);
    files.push_back(MakeJpeg(sample));
  }
  return files;
}

std::vector<std::vector<std::byte>> LargeFiles() {
  std::vector<std::vector<std::byte>> files;
  for (const ImageSize size :
       {ImageSize{375, 500}, {2000, 3001}, {17, 9001}, {7001, 23}, {1, 5000}, {4000, 1}}) {
    JpegSample sample;
    sample.width = size.width;
    sample.height = size.height;
    sample.seed = static_cast<uint32_t>(files.size());
    files.push_back(MakeJpeg(sample));
  }
  return files;
}

std::vector<std::optional<Region>> RandomParts(const std::vector<std::vector<std::byte>>& files,
                                               uint64_t seed) {
  Random random({.seed = seed}, 2);
  std::vector<std::optional<Region>> parts;
  for (const std::vector<std::byte>& file : files) {
    JpegHeader header;
    PENSTOCK_CHECK(ReadJpegHeader(file, header), "a file of the test's own");
    std::optional<Region>& part = parts.emplace_back();
    if (parts.size() % 4 == 0) continue;
    part = {.height = 1 + random.Uniform(header.height), .width = 1 + random.Uniform(header.width)};
    part->y = random.Uniform(header.height - part->height + 1);
    part->x = random.Uniform(header.width - part->width + 1);
  }
  return parts;
}

std::vector<int32_t> AllRows(int32_t count) {
  std::vector<int32_t> rows;
  for (int32_t row = count - 1; row >= 0; --row) rows.push_back(row);
  return rows;
}

}  // namespace penstock
