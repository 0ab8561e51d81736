// On which NUMA nodes memory lies, from the kernel's own account.
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <map>
#include <sstream>
#include <string>

namespace penstock {

// Pages by node of the mapping that holds `data`, of a text like /proc/self/numa_maps: a line
// "7f0000000000 default anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4" a mapping, in order.
inline std::map<int, int64_t> PagesByNode(std::istream& numa_maps, const void* data) {
  std::string mapping;
  for (std::string line; std::getline(numa_maps, line);) {
    if (std::stoull(line, nullptr, 16) > reinterpret_cast<uintptr_t>(data)) break;
    mapping = line;
  }
  std::map<int, int64_t> pages;
  std::istringstream words(mapping);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (word[0] != 'N' || equals == std::string::npos) continue;
    pages[std::stoi(word.substr(1))] = std::stoll(word.substr(equals + 1));
  }
  return pages;
}

inline std::map<int, int64_t> PagesByNode(const void* data) {
  std::ifstream numa_maps("/proc/self/numa_maps");
  return PagesByNode(numa_maps, data);
}

// 1 where the kernel knows of none.
inline int CountNumaNodes() {
  int nodes = 0;
  while (std::ifstream("/sys/devices/system/node/node" + std::to_string(nodes) + "/cpulist")) {
    ++nodes;
  }
  return nodes > 0 ? nodes : 1;
}

}  // namespace penstock
