// Thousands of damaged files: no crash, no access out of bounds, no leak, no stale bytes, no long
// run. What each kind of damage leads to is tested with the decoders.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "penstock/stages/decode/decode_image_stage.h"
#include "penstock/stages/decode/testdata/references.h"

namespace penstock {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

int Draw(std::mt19937& random, int below) {
  return std::uniform_int_distribution<int>(0, below - 1)(random);
}

std::string Damaged(std::string file, std::mt19937& random) {
  const int at = Draw(random, static_cast<int>(file.size()));
  switch (Draw(random, 6)) {
    case 0:
      return file.substr(0, at);
    case 1:
      for (int i = Draw(random, 8); i >= 0; --i) {
        file[Draw(random, static_cast<int>(file.size()))] ^=
            static_cast<char>(1 << Draw(random, 8));
      }
      return file;
    case 2:
      file[at] = '\xFF';  // A marker, or a marker's code.
      return file;
    case 3:
      return file.erase(at, 1 + Draw(random, 40));
    case 4:
      return file.insert(at,
                         std::string(1 + Draw(random, 40), static_cast<char>(Draw(random, 256))));
    default:
      return file.insert(at, file, Draw(random, static_cast<int>(file.size())), 200);
  }
}

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() : state_(stage().MakeWorkerState()) {
    DecodeImage options;
    options.set_max_pixels(1 << 20);  // What a damaged header asks for is not what is tested here.
    EXPECT_TRUE(stage().Init(options).ok());
  }
  const SampleStage& stage() const { return stage_; }
  SampleStage& stage() { return stage_; }

  // Pixels of a random part over memory that was full of `before`; empty if the file was refused.
  std::vector<uint8_t> Decode(const std::string& file, uint8_t before, uint32_t seed) {
    FieldView in;
    in.address = reinterpret_cast<uint64_t>(file.data());
    in.bytes = static_cast<int64_t>(file.size());
    ImageSize size;
    if (!stage().Probe(in, size).ok()) return {};
    std::mt19937 random(seed);
    FieldView out;
    out.region.y = Draw(random, size.height);
    out.region.x = Draw(random, size.width);
    out.region.height = 1 + Draw(random, size.height - out.region.y);
    out.region.width = 1 + Draw(random, size.width - out.region.x);
    std::vector<uint8_t> pixels(out.region.area() * 3, before);
    out.address = reinterpret_cast<uint64_t>(pixels.data());
    out.bytes = static_cast<int64_t>(pixels.size());
    SampleContext context(state_.get(), &scratch_);
    if (!stage().Process(nullptr, in, out, context).ok()) return {};
    return pixels;
  }

 private:
  DecodeImageStage stage_;
  std::unique_ptr<WorkerState> state_;
  Scratch scratch_;
};

TEST_F(DamageTest, DamagedFiles) {
  // The same draws in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937 random(1);
  int decoded = 0, refused = 0;
  for (const char* name :
       {"s_2x2_61x45.jpg", "s_1x1_61x45.jpg", "s_2x1_progressive.jpg", "s_2x2_progressive.jpg",
        "s_2x2_arithmetic.jpg", "restart.jpg", "gray_2x2.jpg", "cmyk_mixed.jpg", "ycck.jpg",
        "three_scans.jpg", "pillow.png", "rgba16_61x45_adam7.png", "palette4_61x45.png"}) {
    const std::string clean = ReadReference(name);
    for (int i = 0; i < 300; ++i) {
      const std::string file = Damaged(clean, random);
      const uint32_t seed = random();
      const auto start = std::chrono::steady_clock::now();
      const std::vector<uint8_t> pixels = Decode(file, 0xCD, seed);
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << name;
      pixels.empty() ? ++refused : ++decoded;
      // Bytes that the decoder did not write would differ.
      ASSERT_TRUE(pixels == Decode(file, 0x32, seed)) << name << " " << i;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(decoded, 500);  // Damage that no decoder sees, and damage below the region.
}

int64_t ResidentBytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(DamageTest, ErrorsKeepNoMemory) {
  for (const char* name : {"damaged_half.jpg", "damaged_marker.jpg", "damaged_crc_small.png"}) {
    const std::string file = ReadReference(name);
    int64_t before = 0;
    for (int i = 0; i < 20000; ++i) {
      if (i == 100) before = ResidentBytes();
      Decode(file, 0, static_cast<uint32_t>(i));
    }
    // The sanitizer keeps freed memory, and finds leaks itself.
    if (!kSanitized) {
      EXPECT_LT(ResidentBytes() - before, 5 << 20) << name;
    }
  }
}

}  // namespace
}  // namespace penstock
