// Writes JPEG files with libjpeg, in all the ways that Pillow cannot; make_jpegs.py feeds it.
//
//   encode_jpegs < JOBS
//
// Each line of JOBS is one file: a path without spaces, then fields of JpegKind (jpeg_encoder.h):
// numbers and words as NAME=VALUE, where `sampling` is HxV, and flags as NAME alone.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "penstock/tests/bench/jpeg_encoder.h"

namespace penstock {
namespace {

bool Set(JpegKind& kind, const std::string& name, const std::string& value) {
  const std::map<std::string, int*> numbers = {{"width", &kind.width},
                                               {"height", &kind.height},
                                               {"quality", &kind.quality},
                                               {"restart", &kind.restart}};
  const std::map<std::string, std::string*> words = {{"content", &kind.content},
                                                     {"colour", &kind.colour}};
  const std::map<std::string, bool*> flags = {{"optimise", &kind.optimise},
                                              {"progressive", &kind.progressive},
                                              {"arithmetic", &kind.arithmetic},
                                              {"scans", &kind.scans},
                                              {"wide", &kind.wide}};
  if (const auto number = numbers.find(name); number != numbers.end()) {
    *number->second = std::atoi(value.c_str());
  } else if (const auto word = words.find(name); word != words.end()) {
    *word->second = value;
  } else if (const auto flag = flags.find(name); flag != flags.end()) {
    *flag->second = true;
  } else if (name == "seed") {
    kind.seed = static_cast<uint32_t>(std::atoi(value.c_str()));
  } else if (name == "sampling" && value.size() == 3) {
    kind.h = value[0] - '0';
    kind.v = value[2] - '0';
  } else {
    return false;
  }
  return true;
}

// Writes the file of one line; false, with a line on stderr, if that cannot be.
bool Write(const std::string& line) {
  std::istringstream words(line);
  std::string path;
  words >> path;
  JpegKind kind;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (Set(kind, word.substr(0, equals), value)) continue;
    std::cerr << "encode_jpegs: " << path << ": what is '" << word << "'?\n";
    return false;
  }
  std::ofstream file(path, std::ios::binary);
  file << EncodeJpeg(kind);
  file.close();
  if (!file) std::cerr << "encode_jpegs: " << path << ": cannot be written\n";
  return file.good();
}

}  // namespace
}  // namespace penstock

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty() && !penstock::Write(line)) return 1;
  }
  return 0;
}
