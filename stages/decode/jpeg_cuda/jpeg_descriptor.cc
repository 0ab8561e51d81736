#include "penstock/stages/decode/jpeg_cuda/jpeg_descriptor.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// Second bytes of markers.
enum Marker : uint8_t {
  kTem = 0x01,
  kSof0 = 0xC0,
  kSof1 = 0xC1,
  kDht = 0xC4,
  kDac = 0xCC,
  kSofLast = 0xCF,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kSoi = 0xD8,
  kEoi = 0xD9,
  kSos = 0xDA,
  kDqt = 0xDB,
  kDnl = 0xDC,
  kDri = 0xDD,
  kApp0 = 0xE0,
  kApp14 = 0xEE,
  kApp15 = 0xEF,
  kCom = 0xFE,
};

constexpr int kTables = 4;       // Of each kind.
constexpr int kLengths = 16;     // Code lengths of a Huffman table.
constexpr int kMaxValues = 256;  // Of a Huffman table.
constexpr int kMaxDcSize = 15;   // libjpeg refuses tables with larger ones.
constexpr int kMaxSide = 65500;  // libjpeg's JPEG_MAX_DIMENSION.
constexpr int kMaxSampling = 4;
// What libjpeg wants to see of these segments before it believes them.
constexpr size_t kJfifBytes = 14, kAdobeBytes = 12, kAdobeTransform = 11;

struct Table {
  uint32_t at = 0;     // Of its counts or values; 0: not defined.
  uint32_t bytes = 0;  // Of a Huffman table: counts and values.
  bool wide = false;   // Of a quantisation table.
};

struct Component {
  uint8_t id = 0, sampling = 0, quantisation = 0;
  Table dc, ac;
};

class HeaderReader {
 public:
  HeaderReader(const uint8_t* file, size_t bytes, JpegDescriptor& descriptor)
      : file_(file), bytes_(bytes), out_(descriptor) {}

  bool Read() {
    if (bytes_ < 4 || bytes_ >> 31 != 0 || file_[0] != 0xFF || file_[1] != kSoi) return false;
    at_ = 2;
    while (NextMarker()) {
      if (marker_ == kTem || (marker_ >= kRst0 && marker_ <= kRst7)) continue;
      if (marker_ == kSoi || marker_ == kEoi || !NextSegment()) return false;
      if (marker_ == kSos) return ReadSos() && Conclude();
      if (!ReadSegment()) return false;
    }
    return false;
  }

 private:
  // Sets marker_ to the next one's second byte, passing over fill bytes and what is none.
  bool NextMarker() {
    do {
      while (at_ < bytes_ && file_[at_] != 0xFF) ++at_;
      while (at_ < bytes_ && file_[at_] == 0xFF) ++at_;
      if (at_ >= bytes_) return false;
      marker_ = file_[at_++];
    } while (marker_ == 0);
    return true;
  }

  // Sets p_ and end_ to the marker's data, and moves on behind it.
  bool NextSegment() {
    if (bytes_ - at_ < 2) return false;
    const size_t length = size_t{file_[at_]} << 8 | file_[at_ + 1];
    if (length < 2 || length > bytes_ - at_) return false;
    p_ = file_ + at_ + 2;
    at_ += length;
    end_ = file_ + at_;
    return true;
  }

  size_t left() const { return static_cast<size_t>(end_ - p_); }
  uint32_t offset(const uint8_t* p) const { return static_cast<uint32_t>(p - file_); }

  bool ReadSegment() {
    switch (marker_) {
      case kDqt:
        return ReadQuantisation();
      case kDht:
        return ReadHuffman();
      case kDri:
        if (left() != 2) return false;
        out_.restart_interval = p_[0] << 8 | p_[1];
        return true;
      case kApp0:
        if (left() >= kJfifBytes && std::memcmp(p_, "JFIF", 5) == 0) is_jfif_ = true;
        return true;
      case kApp14:
        if (left() >= kAdobeBytes && std::memcmp(p_, "Adobe", 5) == 0) {
          is_adobe_ = true;
          adobe_transform_ = p_[kAdobeTransform];
        }
        return true;
      case kDac:
      case kDnl:
        return false;
      default:
        if (marker_ >= kSof0 && marker_ <= kSofLast) return ReadSof();
        // libjpeg passes over these, and no others.
        return (marker_ >= kApp0 && marker_ <= kApp15) || marker_ == kCom;
    }
  }

  bool ReadQuantisation() {
    while (left() > 0) {
      const int index = *p_ & 15, precision = *p_ >> 4;
      ++p_;
      const size_t size = precision == 0 ? 64 : 128;
      if (index >= kTables || precision > 1 || left() < size) return false;
      quantisation_[index] = {.at = offset(p_), .wide = precision == 1};
      p_ += size;
    }
    return true;
  }

  bool ReadHuffman() {
    while (left() > 0) {
      if (left() < 1 + kLengths) return false;
      const int index = *p_ & 15, kind = *p_ >> 4;
      ++p_;
      if (index >= kTables || kind > 1) return false;
      uint32_t values = 0, code = 0;
      for (int length = 1; length <= kLengths; ++length) {
        const uint32_t count = p_[length - 1];
        values += count;
        code += count;
        // No code is all ones.
        if (count != 0 && code >= 1U << length) return false;
        code <<= 1;
      }
      const uint32_t size = kLengths + values;
      if (values > kMaxValues || left() < size) return false;
      (kind == 0 ? dc_ : ac_)[index] = {.at = offset(p_), .bytes = size};
      p_ += size;
    }
    return true;
  }

  bool ReadSof() {
    if ((marker_ != kSof0 && marker_ != kSof1) || out_.components != 0) return false;
    if (left() < 6 || p_[0] != 8) return false;
    out_.height = p_[1] << 8 | p_[2];
    out_.width = p_[3] << 8 | p_[4];
    const int count = p_[5];
    if ((count != 1 && count != 3) || left() != 6 + 3 * static_cast<size_t>(count)) return false;
    if (out_.width < 1 || out_.height < 1) return false;
    if (out_.width > kMaxSide || out_.height > kMaxSide) return false;
    out_.components = static_cast<uint8_t>(count);
    p_ += 6;
    for (int i = 0; i < count; ++i, p_ += 3) components_[i] = {p_[0], p_[1], p_[2], {}, {}};
    return true;
  }

  bool ReadSos() {
    const int count = out_.components;
    if (count == 0 || left() != 4 + 2 * static_cast<size_t>(count) || *p_++ != count) return false;
    for (int i = 0; i < count; ++i, p_ += 2) {
      Component& component = components_[i];
      const int dc = p_[1] >> 4, ac = p_[1] & 15;
      if (p_[0] != component.id || dc >= kTables || ac >= kTables) return false;
      for (int j = 0; j < i; ++j) {
        if (components_[j].id == component.id) return false;
      }
      component.dc = dc_[dc];
      component.ac = ac_[ac];
      if (component.dc.at == 0 || component.ac.at == 0) return false;
      if (!SizesAreValid(component.dc) || component.quantisation >= kTables) return false;
      const Table& quantisation = quantisation_[component.quantisation];
      if (quantisation.at == 0) return false;
      out_.quantisation[i] = quantisation.at;
      out_.wide_tables |= static_cast<uint8_t>(quantisation.wide << i);
    }
    return p_[0] == 0 && p_[1] == 63 && p_[2] == 0;
  }

  bool SizesAreValid(const Table& dc) const {
    const uint8_t* values = file_ + dc.at + kLengths;
    return std::all_of(values, file_ + dc.at + dc.bytes,
                       [](uint8_t size) { return size <= kMaxDcSize; });
  }

  bool Conclude() {
    out_.scan = static_cast<uint32_t>(at_);
    size_t end = bytes_;
    if (end - at_ >= 2 && file_[end - 2] == 0xFF && file_[end - 1] == kEoi) end -= 2;
    out_.scan_bytes = static_cast<uint32_t>(end - at_);
    if (!SetSampling() || !SetPairs()) return false;
    SetPeriod();
    SetColours();
    out_.tables_hash = HashTables();
    return true;
  }

  bool SetSampling() {
    for (int i = 0; i < out_.components; ++i) {
      const int h = components_[i].sampling >> 4, v = components_[i].sampling & 15;
      if (h < 1 || h > kMaxSampling || v < 1 || v > kMaxSampling) return false;
    }
    if (out_.components == 1) {
      out_.h = out_.v = out_.mcu_blocks = 1;
      out_.row_group = components_[0].sampling & 15;
      return true;
    }
    if (components_[1].sampling != 0x11 || components_[2].sampling != 0x11) return false;
    switch (components_[0].sampling) {
      case 0x11:
      case 0x12:
      case 0x21:
      case 0x22:
      case 0x41:
        break;
      default:
        return false;
    }
    out_.h = components_[0].sampling >> 4;
    out_.v = components_[0].sampling & 15;
    out_.mcu_blocks = out_.h * out_.v + 2;
    return true;
  }

  bool AreEqual(const Table& a, const Table& b) const {
    return a.at == b.at ||
           (a.bytes == b.bytes && std::memcmp(file_ + a.at, file_ + b.at, a.bytes) == 0);
  }

  // Which of two pairs of tables each component uses.
  bool SetPairs() {
    const Component* pairs[2] = {&components_[0], &components_[0]};
    const int luma_blocks = out_.mcu_blocks - (out_.components - 1);
    for (int i = 1; i < out_.components; ++i) {
      const Component& component = components_[i];
      const auto uses = [&](const Component& pair) {
        return AreEqual(component.dc, pair.dc) && AreEqual(component.ac, pair.ac);
      };
      if (uses(*pairs[0])) continue;
      if (pairs[1] == pairs[0]) pairs[1] = &component;
      if (!uses(*pairs[1])) return false;
      out_.pair_mask |= static_cast<uint16_t>(1 << (luma_blocks + i - 1));
    }
    for (int i = 0; i < 2; ++i) {
      tables_[2 * i] = pairs[i]->dc;
      tables_[2 * i + 1] = pairs[i]->ac;
    }
    for (int i = 0; i < 4; ++i) out_.huffman[i] = tables_[i].at;
    return true;
  }

  void SetPeriod() {
    const int blocks = out_.mcu_blocks;
    for (int period = 1; period <= blocks; ++period) {
      if (blocks % period != 0) continue;
      const uint32_t all = (1U << blocks) - 1;
      const uint32_t rotated = out_.pair_mask >> period | out_.pair_mask << (blocks - period);
      if ((rotated & all) != out_.pair_mask) continue;
      out_.period = static_cast<uint8_t>(period);
      return;
    }
  }

  // As libjpeg's default_decompress_parms().
  void SetColours() {
    if (out_.components != 3) return;
    const Component* c = components_;
    const bool is_rgb =
        is_adobe_ ? adobe_transform_ == 0 : c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B';
    out_.is_ycc = is_jfif_ || !is_rgb;
  }

  // FNV-1a, eight bytes at a time.
  uint64_t HashTables() const {
    constexpr uint64_t kPrime = 0x100000001B3, kBasis = 0xCBF29CE484222325;
    uint64_t hash = kBasis;
    for (const Table& table : tables_) {
      const uint8_t* p = file_ + table.at;
      for (uint32_t i = 0; i < table.bytes; i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, p + i, std::min<size_t>(8, table.bytes - i));
        hash = (hash ^ word) * kPrime;
        hash ^= hash >> 32;  // A product alone never moves a high bit down.
      }
    }
    return hash;
  }

  const uint8_t* const file_;
  const size_t bytes_;
  JpegDescriptor& out_;
  size_t at_ = 0;
  uint8_t marker_ = 0;
  const uint8_t* p_ = nullptr;
  const uint8_t* end_ = nullptr;
  Table quantisation_[kTables], dc_[kTables], ac_[kTables], tables_[4];
  Component components_[3];
  bool is_jfif_ = false, is_adobe_ = false;
  uint8_t adobe_transform_ = 0;
};

}  // namespace

bool DescribeJpeg(absl::Span<const std::byte> file, JpegDescriptor& descriptor) {
  descriptor = {};
  return HeaderReader(reinterpret_cast<const uint8_t*>(file.data()), file.size(), descriptor)
      .Read();
}

}  // namespace penstock
