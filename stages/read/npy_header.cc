#include "penstock/stages/read/npy_header.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/printable.h"

namespace penstock {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kShortPrefix = 10;  // Of version 1.0, whose length has two bytes.

uint8_t Byte(absl::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

size_t PrefixBytes(absl::string_view start) {
  return Byte(start, kMagic.size()) == 1 ? kShortPrefix : kNpyPrefixBytes;
}

absl::Status Unsupported(absl::string_view descr, absl::string_view advice) {
  return absl::FailedPreconditionError(
      absl::StrCat("the array's type is '", Printable(descr),
                   "', expected little-endian uint8 to uint64, int8 to int64 or float16 to "
                   "float64; ",
                   advice));
}

// "<f4", "|u1".
absl::StatusOr<DLDataType> ParseType(absl::string_view descr) {
  if (absl::StartsWith(descr, ">")) {
    return Unsupported(descr, "write it again with array.astype(array.dtype.newbyteorder('<'))");
  }
  const bool sized = descr.size() == 3 && descr[2] >= '1' && descr[2] <= '8';
  const int bytes = sized ? descr[2] - '0' : 0;
  const bool whole = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  const bool ordered = sized && (descr[0] == '<' || (descr[0] == '|' && bytes == 1));
  if (whole && ordered) {
    const auto bits = static_cast<uint8_t>(8 * bytes);
    if (descr[1] == 'u') return DLDataType{kDLUInt, bits, 1};
    if (descr[1] == 'i') return DLDataType{kDLInt, bits, 1};
    if (descr[1] == 'f' && bytes > 1) return DLDataType{kDLFloat, bits, 1};
  }
  if (descr == "|b1") return Unsupported(descr, "write it again with array.view('uint8')");
  if (descr == "|O") return Unsupported(descr, "objects can't be read as numbers");
  return Unsupported(descr, "write it again with array.astype('float32'), say");
}

// The header's text: a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class DictParser {
 public:
  explicit DictParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<NpyArray> Parse() {
    PENSTOCK_RETURN_IF_ERROR(Entries());
    if (seen_ != kAllKeys) return Bad("it lacks one of 'descr', 'fortran_order' and 'shape'");
    TakeWord("\n");
    if (at_ != text_.size()) return Bad("there is something behind it");
    if (column_major_) {
      return absl::FailedPreconditionError(
          "the array is in column-major (Fortran) order, in which a row's numbers lie apart; write "
          "it again with numpy.ascontiguousarray(array)");
    }
    PENSTOCK_ASSIGN_OR_RETURN(array_.dtype, ParseType(descr_));
    return array_;
  }

 private:
  enum Key : uint8_t { kNoKey = 0, kDescr = 1, kOrder = 2, kShape = 4, kAllKeys = 7 };

  absl::Status Bad(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat("the .npy header is damaged: at byte ", at_,
                                            " of its text ", what, ": \"",
                                            Printable(text_.substr(0, kShown)), "\""));
  }
  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(absl::string_view word) {
    SkipSpaces();
    if (!absl::StartsWith(text_.substr(at_), word)) return false;
    at_ += word.size();
    return true;
  }

  absl::Status Entries() {
    if (!Take('{')) return Bad("'{' is missing");
    while (!Take('}')) {
      PENSTOCK_RETURN_IF_ERROR(Entry());
      if (Take(',')) continue;
      if (!Take('}')) return Bad("',' or '}' is missing");
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status Entry() {
    std::string name;
    PENSTOCK_RETURN_IF_ERROR(String(name));
    const Key key = name == "descr"           ? kDescr
                    : name == "fortran_order" ? kOrder
                    : name == "shape"         ? kShape
                                              : kNoKey;
    if (key == kNoKey) return Bad("there is an unknown key");
    if ((seen_ & key) != 0) return Bad("a key stands there twice");
    seen_ |= key;
    if (!Take(':')) return Bad("':' is missing");
    if (key == kDescr) return Descr();
    if (key == kShape) return Shape();
    column_major_ = TakeWord("True");
    return column_major_ || TakeWord("False") ? absl::OkStatus() : Bad("True or False is missing");
  }

  absl::Status Descr() {
    if (Take('[') || Take('(')) {
      return absl::FailedPreconditionError(
          "the array has a structured type; write each of its fields to a file of its own");
    }
    return String(descr_);
  }

  // Without escapes: no name and no type has any.
  absl::Status String(std::string& out) {
    const char quote = Take('\'') ? '\'' : Take('"') ? '"' : '\0';
    if (quote == '\0') return Bad("a quoted text is missing");
    const size_t end = text_.find(quote, at_);
    if (end == absl::string_view::npos) return Bad("a quote is not closed");
    const absl::string_view inside = text_.substr(at_, end - at_);
    const bool plain = std::all_of(inside.begin(), inside.end(),
                                   [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
    if (!plain) return Bad("a quoted text is not plain");
    out = std::string(inside);
    at_ = end + 1;
    return absl::OkStatus();
  }

  // (), (3,), (3, 4) and (3, 4,), but not (3), which is a number.
  absl::Status Shape() {
    if (!Take('(')) return Bad("'(' is missing");
    if (Take(')')) return absl::OkStatus();
    for (bool comma = false;;) {
      PENSTOCK_RETURN_IF_ERROR(Extent());
      const bool another = Take(',');
      comma = comma || another;
      if (Take(')')) return comma ? absl::OkStatus() : Bad("',' is missing");
      if (!another) return Bad("',' or ')' is missing");
    }
  }

  absl::Status Extent() {
    SkipSpaces();
    const size_t begin = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int digit = text_[at_] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) {
        return Bad("a number is too large");
      }
      value = 10 * value + digit;
    }
    if (at_ == begin) return Bad("a number is missing");
    if (text_[begin] == '0' && at_ > begin + 1) return Bad("a number begins with 0");
    if (array_.shape.size() == kMaxNpyDimensions) return Bad("there are too many dimensions");
    array_.shape.push_back(value);
    return absl::OkStatus();
  }

  static constexpr size_t kShown = 80;

  const absl::string_view text_;
  size_t at_ = 0;
  int seen_ = kNoKey;
  bool column_major_ = false;
  std::string descr_;
  NpyArray array_;
};

}  // namespace

bool HasNpyMagic(absl::string_view start) { return absl::StartsWith(start, kMagic); }

absl::StatusOr<int64_t> NpyHeaderBytes(absl::string_view start) {
  if (!HasNpyMagic(start)) {
    return absl::DataLossError(absl::StrCat(
        "no .npy file: it begins with \"", Printable(start.substr(0, kMagic.size())),
        "\", not with \"", Printable(kMagic), "\"; describe a headerless file by raw"));
  }
  if (start.size() < kNpyPrefixBytes) {
    return absl::DataLossError(
        absl::StrCat("the .npy header is cut off after ", start.size(), " bytes"));
  }
  const int major = Byte(start, kMagic.size()), minor = Byte(start, kMagic.size() + 1);
  if (major < 1 || major > 3 || minor != 0) {
    return absl::DataLossError(absl::StrCat("the .npy header has version ", major, ".", minor,
                                            ", expected 1.0, 2.0 or 3.0"));
  }
  const size_t prefix = PrefixBytes(start);
  int64_t bytes = 0;
  for (size_t at = prefix; at > kMagic.size() + 2; --at) bytes = 256 * bytes + Byte(start, at - 1);
  bytes += static_cast<int64_t>(prefix);
  if (bytes < static_cast<int64_t>(kNpyPrefixBytes) || bytes > kMaxNpyHeaderBytes) {
    return absl::DataLossError(absl::StrCat("the .npy header says that it has ", bytes,
                                            " bytes, expected ", kNpyPrefixBytes, " to ",
                                            kMaxNpyHeaderBytes));
  }
  return bytes;
}

absl::StatusOr<NpyArray> ParseNpyHeader(absl::string_view header) {
  PENSTOCK_ASSIGN_OR_RETURN(const int64_t bytes, NpyHeaderBytes(header));
  if (static_cast<int64_t>(header.size()) != bytes) {
    return absl::DataLossError(
        absl::StrCat("the .npy header is cut off after ", header.size(), " of ", bytes, " bytes"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(NpyArray array, DictParser(header.substr(PrefixBytes(header))).Parse());
  array.data_offset = bytes;
  return array;
}

}  // namespace penstock
