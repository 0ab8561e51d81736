// Fake images: as small a file format as a decoder can have, so that tests say what each byte must
// be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

// 'P', kind (FakeKind), height, width (2 bytes each, little-endian), label (2 bytes), then height x
// width x 3 bytes, each XOR 0x5A.
inline constexpr int kFakeHeaderBytes = 8;

// What the decoders make of it.
enum FakeKind : uint8_t {
  kFakeGood,
  kFakeRefused,       // The device's decoder refuses it beforehand.
  kFakeDamaged,       // The device's decoder finds damage; the host's decodes it all the same.
  kFakeBroken,        // Both find it damaged.
  kFakeDamagedBelow,  // The device's decoder finds damage in the last line, if that is wanted.
};

struct FakeImage {
  int kind = 0, height = 0, width = 0, label = 0;
};

// The pixel that the image with `label` has: no stage or view code, so that tests have something
// independent to compare with.
inline uint8_t FakePixel(int label, int y, int x, int c) {
  return static_cast<uint8_t>(label * 17 + y * 31 + x * 7 + c * 101 + (y * x) % 13);
}

// The file's bytes.
std::string EncodeFake(const FakeImage& image);

// Sizes between 9x10 and 21x26, a seventh of them refused by the device's decoder; label i.
FakeImage FakeImageNumber(int i);

// Writes FakeImageNumber(0 .. count - 1) as "<folder>/0.fake", ...
void WriteFakeFolder(const std::string& folder, int count);
void WriteFile(const std::string& path, const std::string& bytes);

// A new empty folder below the test's temporary one.
std::string NewTestFolder(const std::string& name);

}  // namespace penstock::testing
