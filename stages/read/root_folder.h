// What all sources that read below a folder share.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// That option `root` is set and is a folder that can be listed. InvalidArgument if it is not set;
// else the message has the path, the system's reason and where the path comes from.
absl::Status CheckRoot(const std::string& root);

// Identifies a list of names in order: FNV-1a, 64 bits, each name ended by a zero byte. The same on
// every machine, and for ever: saved states hold it.
class Fingerprint {
 public:
  void Add(absl::string_view name);
  uint64_t value() const { return hash_; }

 private:
  void AddByte(uint8_t byte) { hash_ = (hash_ ^ byte) * 0x100000001B3; }

  uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace penstock
