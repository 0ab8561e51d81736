#include "penstock/tools/data/synthetic_picture.h"

#include <algorithm>
#include <cstdlib>

namespace penstock {
namespace {

constexpr int kFull = 256;  // Weights are parts of this.

struct Colour {
  int red, green, blue;
};

struct Palette {
  Colour dark, light;
};

constexpr Palette kPalettes[kPictureKinds] = {
    {{30, 60, 120}, {200, 220, 250}}, {{70, 20, 20}, {240, 150, 90}},
    {{20, 70, 30}, {190, 220, 120}},  {{80, 60, 40}, {230, 200, 160}},
    {{60, 40, 20}, {160, 190, 90}},   {{40, 40, 50}, {210, 190, 170}},
    {{10, 60, 60}, {140, 230, 190}},  {{90, 50, 20}, {250, 230, 150}},
    {{20, 30, 80}, {120, 190, 230}},  {{50, 20, 60}, {230, 160, 220}},
};

// Bits that depend on all of the arguments' bits (the finaliser of MurmurHash3).
uint32_t Hash(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t h = a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du;
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  return h ^ (h >> 16);
}

int Blend(int a, int b, int weight) { return (a * (kFull - weight) + b * weight) / kFull; }

// 0 to 255, equal at the corners of cells to a hash, smooth between them.
int SmoothNoise(int y, int x, int cell, uint32_t seed) {
  const int row = y / cell, column = x / cell;
  const auto ease = [&](int part) {
    const int t = part * kFull / cell;
    return t * t * (3 * kFull - 2 * t) / (kFull * kFull);
  };
  const auto corner = [&](int dy, int dx) {
    return static_cast<int>(Hash(row + dy, column + dx, seed) & 0xFF);
  };
  const int right = ease(x % cell), down = ease(y % cell);
  return Blend(Blend(corner(0, 0), corner(0, 1), right), Blend(corner(1, 0), corner(1, 1), right),
               down);
}

// Clouds: noise of ever smaller cells, each half as strong.
int Clouds(int y, int x, int size, uint32_t seed) {
  int sum = 0, strength = 128;
  for (int cell = std::max(2, size / 2); cell >= 2 && strength > 4; cell /= 2, strength /= 2) {
    sum += SmoothNoise(y, x, cell, seed + cell) * strength / kFull;
  }
  return std::min(sum, 255);
}

// The shape of a kind, 0 to 255; the picture is `size` high and about as wide.
int Shape(int kind, int y, int x, int size) {
  const int period = std::max(4, size / 4);
  const auto wave = [&](int at) { return std::abs(at % (2 * period) - period) * 255 / period; };
  const int dy = y - size / 2, dx = x - size / 2;
  const int distance = (dy * dy + dx * dx) * 4 / size;  // `size` at the edge of the inner circle.
  switch (kind) {
    case 0:
      return wave(y);
    case 1:
      return wave(x);
    case 2:
      return wave(x + y);
    case 3:
      return wave(x - y + 4 * size);
    case 4:
      return (y / period + x / period) % 2 * 255;
    case 5:
      return distance < size / 2 ? 255 : 0;
    case 6:
      return distance > size / 4 && distance < size * 3 / 4 ? 255 : 0;
    case 7:
      return std::min(std::abs(dy), std::abs(dx)) < size / 8 ? 255 : 0;
    case 8:
      return std::min(255, y * 255 / size);
    default:
      return std::min(255, x * 255 / size);
  }
}

uint8_t Level(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

}  // namespace

SyntheticPicture MakePicture(int width, int height, int kind, uint32_t seed) {
  SyntheticPicture picture{width, height, {}};
  picture.pixels.reserve(static_cast<size_t>(width) * height * 3);
  const int size = std::min(width, height);
  const int shift_y = static_cast<int>(Hash(seed, 1, 0) % (size / 4));
  const int shift_x = static_cast<int>(Hash(seed, 2, 0) % (size / 4));
  const auto& [dark, light] = kPalettes[kind];
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int clouds = Clouds(y, x, size, seed);
      const int shape = Shape(kind, y + shift_y, x + shift_x, size);
      const int weight = (2 * clouds + shape) / 3;
      const int grain = static_cast<int>(Hash(y, x, seed) & 15) - 8;
      picture.pixels.push_back(Level(Blend(dark.red, light.red, weight) + grain));
      picture.pixels.push_back(Level(Blend(dark.green, light.green, weight) + grain));
      picture.pixels.push_back(Level(Blend(dark.blue, light.blue, weight) + grain));
    }
  }
  return picture;
}

}  // namespace penstock
