// Writes JPEG files with libjpeg, in all the ways that Pillow cannot; make_jpegs.py feeds it.
//
//   encode_jpegs < JOBS
//
// Each line of JOBS is one file: a path without spaces, then what it is to be (see JpegSample):
// numbers and words as NAME=VALUE, where `sampling` is HxV, and flags as NAME alone. Without any: a
// photo of 64 x 64, sampling 1x1, quality 90.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"

namespace penstock {
namespace {

using Content = JpegSample::Content;
using Colour = JpegSample::Colour;

// Sets `field` to what `word` stands for; false if it stands for nothing.
template <class T>
bool SetWord(const std::map<std::string, T>& words, const std::string& word, T& field) {
  const auto found = words.find(word);
  if (found == words.end()) return false;
  field = found->second;
  return true;
}

bool Set(JpegSample& sample, const std::string& name, const std::string& value) {
  const std::map<std::string, int*> numbers = {{"width", &sample.width},
                                               {"height", &sample.height},
                                               {"quality", &sample.quality},
                                               {"restart", &sample.restart_interval}};
  const std::map<std::string, Content> contents = {{"photo", Content::kPhoto},
                                                   {"smooth", Content::kSmooth},
                                                   {"noise", Content::kNoise},
                                                   {"edges", Content::kEdges},
                                                   {"flat", Content::kFlat}};
  const std::map<std::string, Colour> colours = {{"ycc", Colour::kYcc},
                                                 {"rgb", Colour::kRgb},
                                                 {"gray", Colour::kGray},
                                                 {"cmyk", Colour::kCmyk},
                                                 {"ycck", Colour::kYcck}};
  const std::map<std::string, bool*> flags = {{"optimise", &sample.optimised},
                                              {"progressive", &sample.progressive},
                                              {"arithmetic", &sample.arithmetic},
                                              {"scans", &sample.scans},
                                              {"wide", &sample.wide}};
  if (name == "content") return SetWord(contents, value, sample.content);
  if (name == "colour") return SetWord(colours, value, sample.colour);
  if (const auto number = numbers.find(name); number != numbers.end()) {
    *number->second = std::atoi(value.c_str());
  } else if (const auto flag = flags.find(name); flag != flags.end()) {
    *flag->second = true;
  } else if (name == "seed") {
    sample.seed = static_cast<uint32_t>(std::atoi(value.c_str()));
  } else if (name == "sampling" && value.size() == 3) {
    sample.h = value[0] - '0';
    sample.v = value[2] - '0';
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
  JpegSample sample{
      .height = 64, .h = 1, .v = 1, .quality = 90, .content = Content::kPhoto, .seed = 0};
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (Set(sample, word.substr(0, equals), value)) continue;
    std::cerr << "encode_jpegs: " << path << ": what is '" << word << "'?\n";
    return false;
  }
  std::ofstream file(path, std::ios::binary);
  const std::vector<std::byte> bytes = MakeJpeg(sample);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
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
