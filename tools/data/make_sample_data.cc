// Makes the small data sets that graphs run on without --data.
//
//   make_sample_data cifar10 FOLDER   CIFAR-10's binary files: 5 of 200 records, one of 100
//   make_sample_data array FILE       1,000 rows of 16 x 16 numbers as a .npy file of float32
//   make_sample_data photos FOLDER    4 class folders of 64 images of 200 to 500 pixels; 2 are PNG
// clang-format off: jpeglib.h needs cstdio before it.
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <png.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "penstock/tools/data/synthetic_picture.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "make_sample_data: %s\n", message.c_str());
  std::exit(1);
}

// A label, then the planes of a 32 x 32 picture.
std::string CifarRecord(uint32_t number) {
  constexpr int kSide = 32, kClasses = 10;
  const int label = static_cast<int>(number * 7 % kClasses);
  const SyntheticPicture picture = MakePicture(kSide, kSide, label, number);
  std::string record(1, static_cast<char>(label));
  for (size_t plane = 0; plane < 3; ++plane) {
    for (size_t i = plane; i < picture.pixels.size(); i += 3) {
      record += static_cast<char>(picture.pixels[i]);
    }
  }
  return record;
}

void WriteCifarFile(const fs::path& path, uint32_t first, uint32_t count) {
  std::ofstream file(path, std::ios::binary);
  for (uint32_t i = first; i < first + count; ++i) file << CifarRecord(i);
  if (!file.flush()) Die("cannot write " + path.string());
}

void MakeCifar10(const fs::path& folder) {
  constexpr uint32_t kTrainFiles = 5, kTrainRecords = 200, kTestRecords = 100;
  fs::create_directories(folder);
  for (uint32_t i = 0; i < kTrainFiles; ++i) {
    WriteCifarFile(folder / ("data_batch_" + std::to_string(i + 1) + ".bin"), i * kTrainRecords,
                   kTrainRecords);
  }
  WriteCifarFile(folder / "test_batch.bin", kTrainFiles * kTrainRecords, kTestRecords);
}

struct JpegOptions {
  int quality;
  bool halved_chroma;  // 4:2:0, else 4:4:4.
};

// libjpeg's own error handling ends the program with a message.
void WriteJpeg(const fs::path& path, const SyntheticPicture& picture, const JpegOptions& options) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) Die("cannot write " + path.string());
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = picture.width;
  info.image_height = picture.height;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = options.halved_chroma ? 2 : 1;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    const size_t row = size_t{info.next_scanline} * picture.width * 3;
    JSAMPROW rows[] = {const_cast<JSAMPROW>(&picture.pixels[row])};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  if (std::fclose(file) != 0) Die("cannot write " + path.string());
}

void WritePng(const fs::path& path, const SyntheticPicture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, path.c_str(), 0, picture.pixels.data(), 0, nullptr) == 0) {
    Die(path.string() + ": " + image.message);
  }
}

void MakePhotos(const fs::path& folder) {
  constexpr const char* kClasses[] = {"clouds", "dunes", "meadow", "stones"};
  constexpr uint32_t kImages = 64;  // Together one batch of graphs/imagenet_train.textproto.
  for (uint32_t c = 0; c < std::size(kClasses); ++c) {
    fs::create_directories(folder / kClasses[c]);
    for (uint32_t i = 0; i < kImages; ++i) {
      // Steps that are prime to 301: no size comes twice.
      const int width = static_cast<int>(200 + (i * 97 + c * 61) % 301);
      const int height = static_cast<int>(200 + (i * 53 + c * 113) % 301);
      const SyntheticPicture picture = MakePicture(width, height, static_cast<int>(c), c * 100 + i);
      const fs::path name = folder / kClasses[c] / std::to_string(100 + i);
      if (i == 5 && c % 2 == 0) {
        WritePng(name.string() + ".png", picture);
      } else {
        WriteJpeg(name.string() + ".jpg", picture,
                  {.quality = static_cast<int>(80 + (i * 3) % 16), .halved_chroma = i % 4 != 3});
      }
    }
  }
}

// Row r holds r + i / 256, i counting its 256 numbers: all are exact, and no two are equal.
void MakeArray(const fs::path& path) {
  constexpr int kRows = 1000, kSide = 16, kAlignment = 64;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 16, 16), }";
  header.append(kAlignment - 1 - (10 + header.size()) % kAlignment, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0' << header;
  for (int row = 0; row < kRows; ++row) {
    float numbers[kSide * kSide];
    for (int i = 0; i < kSide * kSide; ++i) numbers[i] = static_cast<float>(row) + i / 256.0F;
    file.write(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  }
  if (!file.flush()) Die("cannot write " + path.string());
}

int Main(int argc, char** argv) {
  const std::string kind = argc == 3 ? argv[1] : "";
  if (kind == "array") {
    MakeArray(argv[2]);
  } else if (kind == "cifar10") {
    MakeCifar10(argv[2]);
  } else if (kind == "photos") {
    MakePhotos(argv[2]);
  } else {
    Die("usage: make_sample_data cifar10|photos FOLDER, or array FILE");
  }
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
