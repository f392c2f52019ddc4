#include "common/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cacheinf {
namespace {

// A longer word cannot be a misspelling of a known word.
constexpr size_t kLongestWord = 128;

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string DidYouMean(std::string_view unknown, std::span<const std::string> known) {
  if (unknown.size() > kLongestWord) return "";
  const std::string* nearest = nullptr;
  size_t smallest = std::max<size_t>(2, unknown.size() / 2) + 1;
  for (const std::string& word : known) {
    const bool says_more = unknown.starts_with(word + "_");
    const size_t distance = says_more ? 1 : EditDistance(unknown, word);
    if (distance >= smallest) continue;
    smallest = distance;
    nearest = &word;
  }
  return nearest == nullptr ? "" : "; did you mean \"" + *nearest + "\"?";
}

}  // namespace cacheinf
