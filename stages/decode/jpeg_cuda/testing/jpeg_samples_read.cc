// What libjpeg makes of files.
// clang-format off: jpeglib.h needs cstdio before it.
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <csetjmp>

#include "absl/strings/str_cat.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"

namespace penstock {
namespace {

struct ErrorJump {
  jpeg_error_mgr manager;
  std::jmp_buf resume;
};

jpeg_error_mgr* MakeErrors(ErrorJump& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = [](j_common_ptr info) {
    std::longjmp(reinterpret_cast<ErrorJump*>(info->err)->resume, 1);
  };
  errors.manager.output_message = [](j_common_ptr) {};
  return &errors.manager;
}

const unsigned char* Data(absl::Span<const std::byte> file) {
  return reinterpret_cast<const unsigned char*>(file.data());
}

void ReadAllRows(jpeg_decompress_struct& info, std::vector<RawPlane>& planes,
                 std::vector<JSAMPROW>* rows) {
  while (info.output_scanline < info.output_height) {
    JSAMPARRAY arrays[3];
    const int first = static_cast<int>(info.output_scanline) / (info.max_v_samp_factor * DCTSIZE);
    for (int c = 0; c < info.num_components; ++c) {
      const int count = info.comp_info[c].v_samp_factor * DCTSIZE;
      for (int i = 0; i < count; ++i) {
        rows[c][i] = planes[c].samples.data() + int64_t{first * count + i} * planes[c].stride;
      }
      arrays[c] = rows[c].data();
    }
    jpeg_read_raw_data(&info, arrays, info.max_v_samp_factor * DCTSIZE);
  }
}

// Whoever sets a jump's target has no variables that a jump out of this could spoil.
[[gnu::noinline]] void StartRawPlanes(jpeg_decompress_struct& info, std::vector<RawPlane>& planes,
                                      std::vector<JSAMPROW> (&rows)[3]) {
  jpeg_read_header(&info, TRUE);
  info.raw_data_out = TRUE;
  info.dct_method = JDCT_ISLOW;
  info.out_color_space = info.jpeg_color_space;
  jpeg_start_decompress(&info);
  planes.resize(info.num_components);
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& component = info.comp_info[c];
    const int mcu_width = info.max_h_samp_factor * DCTSIZE;
    const int mcus = (static_cast<int>(info.image_width) + mcu_width - 1) / mcu_width;
    planes[c].stride = mcus * component.h_samp_factor * DCTSIZE;
    planes[c].rows = static_cast<int>(info.total_iMCU_rows) * component.v_samp_factor * DCTSIZE;
    planes[c].samples.resize(size_t{1} * planes[c].stride * planes[c].rows);
    rows[c].resize(component.v_samp_factor * DCTSIZE);
  }
}

}  // namespace

std::vector<RawPlane> ReadRawPlanes(absl::Span<const std::byte> file) {
  jpeg_decompress_struct info;
  ErrorJump errors;
  info.err = MakeErrors(errors);
  std::vector<RawPlane> planes;
  std::vector<JSAMPROW> rows[3];
  jpeg_create_decompress(&info);
  if (setjmp(errors.resume) != 0) {
    jpeg_destroy_decompress(&info);
    return {};
  }
  jpeg_mem_src(&info, Data(file), file.size());
  StartRawPlanes(info, planes, rows);
  ReadAllRows(info, planes, rows);
  jpeg_destroy_decompress(&info);
  return planes;
}

bool ReadJpegHeader(absl::Span<const std::byte> file, JpegHeader& header) {
  jpeg_decompress_struct info;
  ErrorJump errors;
  info.err = MakeErrors(errors);
  jpeg_create_decompress(&info);
  if (setjmp(errors.resume) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_mem_src(&info, Data(file), file.size());
  jpeg_read_header(&info, TRUE);
  header.width = static_cast<int>(info.image_width);
  header.height = static_cast<int>(info.image_height);
  header.components = info.num_components;
  header.h = info.comp_info[0].h_samp_factor;
  header.v = info.comp_info[0].v_samp_factor;
  header.is_ycc = info.jpeg_color_space == JCS_YCbCr;
  header.restart_interval = info.restart_interval;
  jpeg_destroy_decompress(&info);
  return true;
}

std::string ComparePlanes(const JpegPlanes& planes, const Region& region,
                          const std::vector<RawPlane>& expected,
                          const std::vector<std::byte>& memory, uint64_t memory_address) {
  if (expected.size() != planes.components) return "another number of components";
  for (int c = 0; c < planes.components; ++c) {
    const int h = c == 0 ? 1 : planes.h, v = c == 0 ? 1 : planes.v;
    const int margin_x = h > 1 ? 1 : 0, margin_y = v > 1 ? 1 : 0;
    const int width = c == 0 ? planes.width : planes.chroma_width;
    const int height = c == 0 ? planes.height : planes.chroma_height;
    const int left = std::max(region.x / h - margin_x, 0);
    const int right = std::min((region.x + region.width - 1) / h + margin_x, width - 1);
    const int top = std::max(region.y / v - margin_y, 0);
    // The row below is drawn on by the lower of two rows of pixels only.
    const int bottom = std::min(region.y + region.height - 1 + margin_y, planes.height - 1) / v;
    for (int y = top; y <= std::min(bottom, height - 1); ++y) {
      for (int x = left; x <= right; ++x) {
        const uint64_t at = planes.plane[c] +
                            static_cast<uint64_t>(int64_t{y} * planes.stride[c] + x) -
                            memory_address;
        if (at >= memory.size()) return "a plane outside of the memory";
        const int got = static_cast<int>(memory[at]);
        const int wanted = expected[c].samples[size_t{1} * y * expected[c].stride + x];
        if (got != wanted) {
          return absl::StrCat("plane ", c, " row ", y, " column ", x, ": ", got, ", expected ",
                              wanted);
        }
      }
    }
  }
  return "";
}

}  // namespace penstock
