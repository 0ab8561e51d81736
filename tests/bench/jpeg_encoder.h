// JPEG files of all kinds by libjpeg, with pictures that are worked out. For checks.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct JpegKind {
  int width = 64, height = 64;    // Pixels.
  std::string content = "photo";  // photo, smooth, noise, edges or flat.
  uint32_t seed = 0;              // Of the content.
  int quality = 90;               // 1 to 100.
  int h = 1, v = 1;               // Sampling of the first component against the others.
  int restart = 0;                // MCUs between restart markers; 0: none.
  std::string colour = "ycc";     // ycc, rgb (as such, Adobe's marker), gray, cmyk or ycck.
  bool optimise = false;          // Huffman tables made for the file.
  bool progressive = false;
  bool arithmetic = false;
  bool scans = false;  // One a component.
  // 16-bit quantisation where the quality asks for it, which makes the file extended sequential.
  bool wide = false;
};

// The file's bytes. Ends the program where libjpeg refuses the kind.
std::string EncodeJpeg(const JpegKind& kind);

}  // namespace penstock
