#ifndef CACHEINF_COMMON_BASE_MEDIAN_H_
#define CACHEINF_COMMON_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cacheinf {

// The median: for an even count, the greater of the two in the middle; 0 if there are no numbers.
inline double MedianOf(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_MEDIAN_H_
