// The two passes over lists of taps, as kernels do them, against the host stages one after the
// other. Runs on the host.
#include "penstock/stages/decode/image_chain/image_geometry.cuh"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/stages/decode/image_chain/testing/test_chain.h"
#include "penstock/stages/random.h"

namespace penstock {
namespace {

constexpr int kChannels = 3;
constexpr int32_t kUnset = -1;

struct Case {
  std::vector<ChainStage> stages;
  ResampleMethod method = {};
  int reach = 1;
};

std::vector<uint8_t> Noise(ImageSize size) {
  std::vector<uint8_t> bytes(static_cast<size_t>(size.height) * size.width * kChannels);
  uint32_t state = static_cast<uint32_t>(size.height * 977 + size.width);
  for (uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

// Taps of one axis, in memory of just the size that is planned for it.
struct AxisMemory {
  AxisMemory(const ImageAxis& axis, const ResampleMethod& method, int32_t items, int64_t in,
             int reach)
      : taps(items), weights(MostWeights(in, items, reach), kUnset) {
    out = {items, axis.Visible(items), taps.data(), weights.data()};
    for (int32_t i = 0; i < items; ++i) axis.Fill(method, i, out);
    if (method.nearest) axis.Nearest(out);
    for (const Taps& t : taps) {
      if (t.count == 0) continue;
      EXPECT_LE(t.at + int64_t{t.count - 1} * out.stride, static_cast<int64_t>(weights.size()) - 1);
    }
  }
  int32_t weight(int32_t t, int32_t i) const {
    return weights[taps[i].at + int64_t{t} * out.stride];
  }
  std::vector<Taps> taps;
  std::vector<int32_t> weights;
  AxisTaps out;
};

// All that is read lies within [begin, end), and within what the first and the last item enclose.
void ExpectWithin(const std::vector<Taps>& taps, int32_t begin, int32_t end) {
  const Taps &a = taps.front(), &b = taps.back();
  for (const Taps& t : taps) {
    if (t.count == 0) continue;
    EXPECT_GE(t.begin, std::max(begin, std::min(a.begin, b.begin)));
    EXPECT_LE(t.begin + t.count, std::min(end, std::max(a.begin + a.count, b.begin + b.count)));
  }
}

std::vector<uint8_t> TwoPasses(const Case& c, const ImageGeometry& geometry, const Region& needed,
                               ImageSize out, const FieldView& in) {
  const ImageAxis columns = {geometry.box.x, geometry.box.width, geometry.size.width, geometry.x,
                             geometry.mirrored};
  const ImageAxis rows = {geometry.box.y - needed.y, geometry.box.height, geometry.size.height,
                          geometry.y, false};
  const AxisMemory x(columns, c.method, out.width, needed.width, c.reach);
  const AxisMemory y(rows, c.method, out.height, needed.height, c.reach);
  ExpectWithin(x.taps, needed.x, needed.x + needed.width);
  ExpectWithin(y.taps, 0, needed.height);
  std::vector<uint8_t> between(static_cast<size_t>(needed.height) * out.width * kChannels);
  std::vector<uint8_t> result(static_cast<size_t>(out.height) * out.width * kChannels);
  const int32_t row = out.width * kChannels;
  for (int32_t r = 0; r < needed.height; ++r) {
    for (int32_t i = 0; i < row; ++i) {
      const Taps taps = x.taps[i / kChannels];
      int32_t sum = kHalfValue;
      for (int32_t t = 0; t < taps.count; ++t) {
        sum += in.at(needed.y + r, taps.begin + t)[i % kChannels] * x.weight(t, i / kChannels);
      }
      between[int64_t{r} * row + i] = static_cast<uint8_t>(ValueOfSum(sum));
    }
  }
  for (int32_t r = 0; r < out.height; ++r) {
    for (int32_t i = 0; i < row; ++i) {
      int32_t sum = kHalfValue;
      for (int32_t t = 0; t < y.taps[r].count; ++t) {
        sum += between[int64_t{y.taps[r].begin + t} * row + i] * y.weight(t, r);
      }
      result[int64_t{r} * row + i] = static_cast<uint8_t>(ValueOfSum(sum));
    }
  }
  return result;
}

void Check(const Case& c, ImageSize image, int64_t id) {
  const SampleChain chain = MakeChain(FieldSpec::Image("image", {}), c.stages);
  const size_t n = c.stages.size();
  std::vector<std::byte> memory(n * kMaxParamsBytes + 16);
  std::vector<std::byte*> params;
  GeometryTables tables;
  for (size_t i = 0; i < n; ++i) {
    params.push_back(memory.data() + i * kMaxParamsBytes);
    const std::string& name = c.stages[i].name;
    (name == "RandomResizedCrop" ? tables.random_resized_crop
     : name == "Resize"          ? tables.resize
     : name == "CenterCrop"      ? tables.center_crop
     : name == "RandomCrop"      ? tables.random_crop
                                 : tables.random_horizontal_flip) = params.back();
  }
  Resolved resolved;
  const absl::Status status =
      chain.Resolve(image, {.id = static_cast<uint64_t>(id)}, params, resolved);
  ASSERT_TRUE(status.ok()) << status;
  const ImageSize out = resolved.size.back();
  std::vector<uint8_t> bytes = Noise(image);
  const FieldView in = {.address = reinterpret_cast<uint64_t>(bytes.data()),
                        .bytes = static_cast<int64_t>(bytes.size()),
                        .region = Region::Whole(image)};
  // The host form reads the region alone.
  const Region& needed = resolved.region[0];
  std::vector<uint8_t> part;
  for (int32_t y = 0; y < needed.height; ++y) {
    const uint8_t* from = in.at(needed.y + y, needed.x);
    part.insert(part.end(), from, from + int64_t{needed.width} * kChannels);
  }
  std::vector<uint8_t> want(static_cast<size_t>(out.height) * out.width * kChannels);
  FieldView part_view = in, row = in;
  part_view.address = reinterpret_cast<uint64_t>(part.data());
  part_view.bytes = static_cast<int64_t>(part.size());
  part_view.region = needed;
  row.address = reinterpret_cast<uint64_t>(want.data());
  row.bytes = static_cast<int64_t>(want.size());
  row.region = Region::Whole(out);
  ChainWorker worker = chain.MakeWorker();
  ASSERT_TRUE(chain.Process(part_view, resolved, params, row, worker).ok());
  const ImageGeometry geometry = GeometryOf(tables, 0, image, out);
  EXPECT_TRUE(TwoPasses(c, geometry, needed, out, in) == want)
      << ToString(c.stages) << image.height << " x " << image.width << ", sample " << id;
}

constexpr char kFlip[] = "probability: 0.5";

std::vector<Case> Cases() {
  struct Method {
    const char* options;
    ResampleMethod method;
    int reach;
  };
  const Method methods[] = {
      {"", {}, 1},
      {"antialias: false", {.antialias = false}, 1},
      {"interpolation: BICUBIC", {.filter = ResampleFilter::kBicubic}, 2},
      {"interpolation: BICUBIC antialias: false",
       {.filter = ResampleFilter::kBicubic, .antialias = false},
       2},
      {"interpolation: NEAREST", {.nearest = true}, 1},
  };
  std::vector<Case> cases;
  for (const Method& m : methods) {
    const auto with = [&m](const char* options) { return absl::StrCat(options, " ", m.options); };
    for (const auto& stages : std::vector<std::vector<ChainStage>>{
             {{"RandomResizedCrop", with("height: 24 width: 17")}},
             {{"RandomResizedCrop", with("height: 8 width: 40 scale: [0.01, 1]")},
              {"RandomHorizontalFlip", kFlip}},
             {{"Resize", with("size { height: 33 width: 21 }")}, {"RandomHorizontalFlip", kFlip}},
             {{"Resize", with("shorter_edge: 18")}, {"CenterCrop", "height: 16 width: 15"}},
             {{"Resize", with("longer_edge: 18")},
              {"CenterCrop", "height: 20 width: 15"},
              {"RandomHorizontalFlip", kFlip}},
             {{"Resize", with("shorter_edge: 20")},
              {"RandomCrop", "height: 16 width: 15"},
              {"RandomHorizontalFlip", kFlip}}}) {
      cases.push_back({stages, m.method, m.reach});
    }
  }
  cases.push_back({{{"CenterCrop", "height: 30 width: 31"}, {"RandomHorizontalFlip", kFlip}}});
  cases.push_back({{{"CenterCrop", "height: 5 width: 90"}}});
  cases.push_back({{{"RandomCrop", "height: 1 width: 1"}, {"RandomHorizontalFlip", kFlip}}});
  return cases;
}

TEST(ImageGeometry, TwoPassesEqualTheHostStages) {
  Random random({.seed = 7}, 1);
  for (const Case& c : Cases()) {
    for (int64_t id = 0; id < 25; ++id) {
      Check(c, {1 + random.Uniform(80), 1 + random.Uniform(80)}, id);
    }
    // Not resized at all, by one axis, and by much.
    for (const ImageSize image :
         {ImageSize{24, 17}, {33, 21}, {18, 18}, {33, 50}, {900, 20}, {20, 700}, {1, 1}}) {
      Check(c, image, 3);
    }
  }
}

}  // namespace
}  // namespace penstock
