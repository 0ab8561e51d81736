// The graph of kept CIFAR-10 that several benchmarks run.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::bench {

// A node of penstock.`stage`, on a line of its own.
inline std::string Node(const std::string& stage, const std::string& options) {
  return absl::StrCat("node { stage { [type.googleapis.com/penstock.", stage, "] { ", options,
                      " } } }\n");
}

// CIFAR-10 of `folder`, kept at `place`; shuffled, cropped with padding 4, flipped, normalised to
// float16 NCHW, in whole batches.
inline std::string CifarGraph(const std::string& folder, const std::string& place, int batch) {
  return absl::StrCat(
      "order { shuffle: FULL }\n", Node("ReadCifar10", absl::StrCat("root: '", folder, "'")),
      Node("Cache", absl::StrCat("place: ", place, " bytes: 1073741824")),
      Node("RandomCrop", "height: 32 width: 32 padding: 4"), Node("RandomHorizontalFlip", ""),
      Node("Collate", absl::StrCat("batch_size: ", batch, " tail: DROP")), Node("Upload", ""),
      Node("Normalize",
           "mean: [0.4914, 0.4822, 0.4465] std: [0.2470, 0.2435, 0.2616] dtype: FLOAT16"));
}

}  // namespace penstock::bench
