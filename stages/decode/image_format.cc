#include "penstock/stages/decode/image_format.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

struct Signature {
  absl::string_view name;
  absl::string_view bytes;
  size_t offset = 0;
};

// A view of a literal that may hold zero bytes.
template <size_t N>
constexpr absl::string_view Bytes(const char (&literal)[N]) {
  return absl::string_view(literal, N - 1);
}

// What is found in image data sets, besides.
constexpr Signature kOthers[] = {
    {"GIF", Bytes("GIF8")},
    {"WebP", Bytes("WEBP"), 8},
    {"BMP", Bytes("BM")},
    {"TIFF", Bytes("II*\0")},
    {"TIFF", Bytes("MM\0*")},
    {"AVIF", Bytes("ftypavif"), 4},
    {"HEIC", Bytes("ftyphei"), 4},
    {"HEIC", Bytes("ftypmif1"), 4},
    {"JPEG 2000", Bytes("\0\0\0\x0CjP  ")},
    {"JPEG 2000", Bytes("\xFF\x4F\xFF\x51")},
    {"JPEG XL", Bytes("\xFF\x0A")},
    {"JPEG XL", Bytes("\0\0\0\x0CJXL ")},
    {"PNM", Bytes("P5\n")},
    {"PNM", Bytes("P6\n")},
    {"gzip", Bytes("\x1F\x8B")},
    {"ZIP", Bytes("PK\x03\x04")},
    {"PDF", Bytes("%PDF-")},
};

constexpr Signature kHtml[] = {{"HTML", "<html"}, {"HTML", "<!doctype html"}, {"XML", "<?xml"}};

bool Matches(absl::string_view content, const Signature& signature) {
  return content.size() >= signature.offset &&
         absl::StartsWith(content.substr(signature.offset), signature.bytes);
}

std::string FirstBytes(absl::string_view content) {
  constexpr size_t kQuoted = 32;
  return absl::StrCat("it begins with \"", absl::CHexEscape(content.substr(0, kQuoted)), "\"");
}

}  // namespace

absl::StatusOr<ImageFormat> ImageFormatOf(absl::Span<const std::byte> bytes) {
  const absl::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (content.empty()) return absl::DataLossError("empty file");
  if (absl::StartsWith(content, Bytes("\xFF\xD8\xFF"))) return ImageFormat::kJpeg;
  if (absl::StartsWith(content, Bytes("\x89PNG\r\n\x1A\n"))) return ImageFormat::kPng;
  for (const Signature& signature : kOthers) {
    if (!Matches(content, signature)) continue;
    return absl::UnimplementedError(
        absl::StrCat("content is ", signature.name, ", expected JPEG or PNG"));
  }
  for (const Signature& signature : kHtml) {
    if (!absl::StartsWithIgnoreCase(content, signature.bytes)) continue;
    return absl::DataLossError(absl::StrCat("content is ", signature.name,
                                            ", expected JPEG or PNG; ", FirstBytes(content)));
  }
  return absl::DataLossError(
      absl::StrCat("content is neither JPEG nor PNG; ", FirstBytes(content)));
}

}  // namespace penstock
