#include "penstock/stages/decode/png_decoder.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

constexpr int kChannels = 3;

// One file in libpng's hands. libpng leaves on an error by longjmp, which must not pass a
// destructor: so it is only called within Try(), whose body has nothing to destroy; what does, such
// as this object, lives outside.
class PngSession {
 public:
  explicit PngSession(absl::Span<const std::byte> bytes) : bytes_(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &OnError, &OnWarning);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~PngSession() { png_destroy_read_struct(&png, &info, nullptr); }
  PngSession(const PngSession&) = delete;
  PngSession& operator=(const PngSession&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;

  template <class Body>
  absl::Status Try(Body body) {
    if (info == nullptr) return absl::ResourceExhaustedError("libpng: no memory");
    if (setjmp(resume_) != 0) return status();
    body();
    return absl::OkStatus();
  }

  static void Read(png_structp png, png_bytep to, size_t count) {
    auto& session = *static_cast<PngSession*>(png_get_io_ptr(png));
    if (count > session.bytes_.size() - session.position_) {
      session.ran_out_ = true;
      png_error(png, "the data ends");
    }
    std::memcpy(to, session.bytes_.data() + session.position_, count);
    session.position_ += count;
  }

 private:
  static PngSession& Of(png_structp png) {
    return *static_cast<PngSession*>(png_get_error_ptr(png));
  }
  static void OnError(png_structp png, png_const_charp text) {
    PngSession& session = Of(png);
    std::snprintf(session.text_, sizeof session.text_, "%s", text);
    std::longjmp(session.resume_, 1);
  }
  // Libpng only warns of a wrong Adler-32 that it meets behind the last row. More data than the
  // image needs changes no pixel.
  static void OnWarning(png_structp png, png_const_charp text) {
    const bool more = absl::StrContains(text, "Extra compressed data") ||
                      absl::StrContains(text, "Too much image data");
    if (absl::StartsWith(text, "IDAT") && !more) OnError(png, text);
  }

  absl::Status status() const {
    return absl::DataLossError(ran_out_ ? absl::StrCat("truncated: the end of ", bytes_.size(),
                                                       " bytes is reached in row ",
                                                       png_get_current_row_number(png) + 1, " of ",
                                                       png_get_image_height(png, info))
                                        : absl::StrCat("PNG: ", text_));
  }

  const absl::Span<const std::byte> bytes_;
  size_t position_ = 0;
  bool ran_out_ = false;
  std::jmp_buf resume_;
  char text_[256] = "";
};

// Reads the header and asks for RGB of 8 bits.
void ReadHeader(PngSession& session) {
  png_structp png = session.png;
  png_set_read_fn(png, &session, &PngSession::Read);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // max_pixels is the limit.
  // Colour profiles and texts, which can be large and compressed, change nothing here.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png, session.info);
  png_set_expand(png);  // Palettes to RGB, gray of 1, 2 and 4 bits to 8.
  png_set_gray_to_rgb(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, session.info);
}

// Rows are as wide as the image; those above the region go to `row`, too.
void ReadRows(PngSession& session, const Region& region, uint8_t* row, uint8_t* pixels) {
  const size_t skipped = size_t{kChannels} * region.x;
  const size_t taken = size_t{kChannels} * region.width;
  const bool direct =
      png_get_image_width(session.png, session.info) == static_cast<png_uint_32>(region.width);
  for (int y = 0; y < region.y + region.height; ++y) {
    uint8_t* to = y < region.y ? nullptr : pixels + (y - region.y) * taken;
    png_read_row(session.png, direct && to != nullptr ? to : row, nullptr);
    if (!direct && to != nullptr) std::memcpy(to, row + skipped, taken);
  }
}

// All passes go over the whole image.
void ReadInterlaced(PngSession& session, ImageSize size, uint8_t* image) {
  const int passes = png_set_interlace_handling(session.png);
  const size_t row_bytes = size_t{kChannels} * size.width;
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < size.height; ++y) {
      png_read_row(session.png, image + y * row_bytes, nullptr);
    }
  }
}

void CopyRegion(const uint8_t* image, ImageSize size, const Region& region, uint8_t* pixels) {
  const size_t taken = size_t{kChannels} * region.width;
  for (int y = 0; y < region.height; ++y) {
    std::memcpy(pixels + y * taken,
                image + (static_cast<size_t>(region.y + y) * size.width + region.x) * kChannels,
                taken);
  }
}

uint32_t BigEndian32(const std::byte* bytes) {
  return png_get_uint_32(reinterpret_cast<png_const_bytep>(bytes));
}

}  // namespace

absl::StatusOr<ImageSize> ReadPngSize(absl::Span<const std::byte> bytes) {
  // Signature, length and name of the first chunk, width, height.
  constexpr size_t kName = 12, kWidth = 16, kHeight = 20, kEnd = 24;
  if (bytes.size() < kEnd) {
    return absl::DataLossError(
        absl::StrCat("truncated: the end of ", bytes.size(), " bytes is reached in the header"));
  }
  if (std::memcmp(bytes.data() + kName, "IHDR", 4) != 0) {
    return absl::DataLossError("PNG: the first chunk is not IHDR");
  }
  const uint32_t width = BigEndian32(&bytes[kWidth]), height = BigEndian32(&bytes[kHeight]);
  if (width < 1 || width > PNG_UINT_31_MAX || height < 1 || height > PNG_UINT_31_MAX) {
    return absl::DataLossError(absl::StrCat("PNG: invalid size ", width, " x ", height));
  }
  return ImageSize{static_cast<int32_t>(height), static_cast<int32_t>(width)};
}

absl::Status PngDecoder::Decode(absl::Span<const std::byte> bytes, const Region& region,
                                uint8_t* pixels) {
  PngSession session(bytes);
  if (absl::Status read = session.Try([&] { ReadHeader(session); }); !read.ok()) return read;
  const ImageSize size{static_cast<int32_t>(png_get_image_height(session.png, session.info)),
                       static_cast<int32_t>(png_get_image_width(session.png, session.info))};
  if (region.ClippedTo(size) != region) {
    return absl::InternalError("the region reaches beyond the image");
  }
  if (png_get_rowbytes(session.png, session.info) != size_t{kChannels} * size.width) {
    return absl::InternalError("libpng gives no RGB of 8 bits");
  }
  const bool interlaced = png_get_interlace_type(session.png, session.info) != PNG_INTERLACE_NONE;
  const bool whole = region == Region::Whole(size);
  const size_t row_bytes = size_t{kChannels} * size.width;
  const size_t kept = interlaced && !whole ? row_bytes * size.height : row_bytes;
  auto* rows = reinterpret_cast<uint8_t*>(rows_.Get(kept));
  return session.Try([&] {
    if (!interlaced) return ReadRows(session, region, rows, pixels);
    ReadInterlaced(session, size, whole ? pixels : rows);
    if (!whole) CopyRegion(rows, size, region, pixels);
  });
}

}  // namespace penstock
