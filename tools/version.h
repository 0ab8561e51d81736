// The version that --version and --stats_json state.
#pragma once

namespace penstock {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace penstock
