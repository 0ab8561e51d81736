// Files and chains that the device forms of image chains are tried with. For tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "penstock/stages/decode/image_chain/testing/test_chain.h"

namespace penstock {

// Each sequence that has a form, with several options.
std::vector<std::vector<ChainStage>> AllImageChains();

// `count` files of all samplings, whose sides are 32 to `most` pixels; every third is smaller than
// that, down to 1.
std::vector<std::vector<std::byte>> SmallFiles(int count, int most);

// Wide, high and large ones.
std::vector<std::vector<std::byte>> LargeFiles();

// A part of each file's image; of every fourth the whole.
std::vector<std::optional<Region>> RandomParts(const std::vector<std::vector<std::byte>>& files,
                                               uint64_t seed);

// `count` rows, from the last to the first.
std::vector<int32_t> AllRows(int32_t count);

}  // namespace penstock
