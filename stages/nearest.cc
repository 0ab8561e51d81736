#include "penstock/stages/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"

namespace penstock {
namespace {

std::string Normalised(absl::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot != absl::string_view::npos) name.remove_prefix(dot + 1);
  std::string plain;
  for (char c : name) {
    if (c != '_') plain += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return plain;
}

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string Nearest(absl::string_view name, absl::Span<const std::string> known) {
  const std::string wanted = Normalised(name);
  std::string best;
  double best_score = 0.6;  // Of the longer name, this share may differ; more is no likeness.
  for (const std::string& candidate : known) {
    const std::string plain = Normalised(candidate);
    const size_t longer = std::max({wanted.size(), plain.size(), size_t{1}});
    const auto mismatch = std::mismatch(wanted.begin(), wanted.end(), plain.begin(), plain.end());
    const auto prefix = static_cast<double>(mismatch.first - wanted.begin());
    // A common beginning counts for half an edit a character: people misspell ends.
    const double score = (static_cast<double>(EditDistance(wanted, plain)) - prefix / 2) /
                         static_cast<double>(longer);
    if (score >= best_score) continue;
    best = candidate;
    best_score = score;
  }
  return best;
}

}  // namespace penstock
