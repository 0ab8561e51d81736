// Texts with small faults, as people and editors make them: whatever they are, loading them gives a
// graph or says what is wrong.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/testing/any_text.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

constexpr int kMutations = 5000;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  // One of the texts with one to four changes.
  std::string Next() {
    std::string text = texts_[Below(texts_.size())];
    for (size_t changes = 1 + Below(4); changes > 0; --changes) Change(text);
    return text;
  }

 private:
  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }

  void Change(std::string& text) {
    static const std::vector<std::string> kPieces = {
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ":",
        ",",
        "\"",
        "'",
        "#",
        "/",
        "$",
        "${",
        "${data}",
        "$$",
        "-1",
        "0x",
        "1e",
        "\\",
        "\\xff",
        "\n",
        "\t",
        "node",
        "stage",
        "input:",
        "name: 'collate'",
        std::string(1, '\0'),
        "\xff",
        "9999999999999999999",
        "input: 'upload'",
        "node { stage { } }",
        "[type.googleapis.com/penstock.Pin] { }",
        "[type.googleapis.com/penstock.Pn] { x: [1] }"};
    const size_t at = Below(text.size() + 1);
    const size_t length = Below(1 + Below(60));
    switch (Below(6)) {
      case 0:
        text.insert(at, kPieces[Below(kPieces.size())]);
        return;
      case 1:
        text.erase(at, length);
        return;
      case 2:
        text.insert(Below(text.size() + 1), text.substr(at, length));
        return;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(Below(128));
        return;
      case 4:
        SwapLetters(text, at);
        return;
      default:
        MoveLine(text, at);
    }
  }

  static void SwapLetters(std::string& text, size_t at) {
    if (at + 1 < text.size()) std::swap(text[at], text[at + 1]);
  }

  void MoveLine(std::string& text, size_t at) {
    const size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0.
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) return;
    const std::string line = text.substr(begin, end + 1 - begin);
    text.erase(begin, line.size());
    text.insert(text.rfind('\n', Below(text.size())) + 1, line);
  }

  std::vector<std::string> texts_;
  // The same texts in every run. NOLINTNEXTLINE(bugprone-random-generator-seed)
  std::mt19937_64 random_{20240229};
};

TEST(Mutation, EveryTextGivesAGraphOrErrors) {
  std::vector<std::string> texts;
  for (const char* name :
       {"array", "cifar10_train", "cifar10_eval", "imagenet_train", "imagenet_eval"}) {
    texts.push_back(Read(absl::StrCat("graphs/", name, ".textproto")));
    ASSERT_EQ(testing::Misbehaviour(texts.back(), Registry::Default()), "") << name;
  }
  Mutator mutator(texts);
  for (int i = 0; i < kMutations; ++i) {
    const std::string text = mutator.Next();
    ASSERT_EQ(testing::Misbehaviour(text, Registry::Default()), "") << i << ":\n" << text;
  }
}

}  // namespace
}  // namespace penstock
