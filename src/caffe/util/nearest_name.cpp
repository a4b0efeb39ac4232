#include "caffe/util/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace caffe {

namespace {

std::string InLowerCase(std::string text) {
  for (char& letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

/// The number of insertions, deletions and replacements that turn `b` into `a` (Levenshtein 1966).
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(const std::string& name, const std::vector<std::string>& known) {
  const std::string letters = InLowerCase(name);
  std::string nearest;
  // Two swapped letters count as a distance of two.
  size_t least = name.size() < 4 ? 2 : std::max<size_t>(3, name.size() / 3 + 1);
  for (const std::string& candidate : known) {
    const size_t distance = Distance(InLowerCase(candidate), letters);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

}  // namespace caffe
