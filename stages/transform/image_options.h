// Checks that the stages of this folder share. Each error names the option, its value and its
// range.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "penstock/stages/field.h"
#include "penstock/stages/transform/interpolation.pb.h"

namespace penstock {

inline constexpr int32_t kMaxImageSide = 65535;             // Pixels; JPEG's own limit.
inline constexpr int64_t kMaxImageArea = int64_t{1} << 28;  // Pixels.
inline constexpr int kMaxImageChannels = 4;

// The input of a stage that works on pixels: decoded, uint8, interleaved, 1 to 4 channels.
absl::Status CheckUint8Image(const FieldSpec& field);

// A side of an image that an option asks for: 1 to 65535. `value` is nullopt where it is not set.
absl::Status CheckSide(absl::string_view option, std::optional<int32_t> value);

// As above for both, and their area: at most 2^28 pixels.
absl::Status CheckSides(std::optional<int32_t> height, std::optional<int32_t> width);

// CheckSides() of the `height` and `width` of an options message.
template <class Options>
absl::Status CheckSidesOf(const Options& options) {
  return CheckSides(options.has_height() ? std::optional(options.height()) : std::nullopt,
                    options.has_width() ? std::optional(options.width()) : std::nullopt);
}

absl::Status CheckInterpolation(int interpolation);

// "height 480, width 640": never a mere "480x640", which people read in either order.
std::string ToString(ImageSize size);

}  // namespace penstock
