#ifndef CACHEINF_PROFILER_FIT_H_
#define CACHEINF_PROFILER_FIT_H_

#include <utility>
#include <vector>

#include "common/plan/curve.h"

// From samples to the numbers of a profile.

namespace cacheinf {

// 0 of none.
double PercentileOf(std::vector<double> numbers, double share);
inline double MedianOf(std::vector<double> numbers) {
  return PercentileOf(std::move(numbers), 0.5);
}

// A number in so many digits as a measurement is worth, which files need not spell out.
double Rounded(double number);

// A rising curve of few points: samples of neighbouring shares are one point, their median, so that
// no outlier counts. 0 and 1 stay points of their own.
Curve FitByMedians(const std::vector<Curve::Point>& samples);

// The same by means, for what is 0 or 1 in turn.
Curve FitByMeans(const std::vector<Curve::Point>& samples);

// outer(inner(x)), at the points of `inner`. REQUIRES: an inner curve of shares.
Curve Composed(const Curve& outer, const Curve& inner);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_FIT_H_
