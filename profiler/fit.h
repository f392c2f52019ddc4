#ifndef CACHEINF_PROFILER_FIT_H_
#define CACHEINF_PROFILER_FIT_H_

#include <vector>

#include "common/plan/curve.h"

// From samples to a profile's numbers.

namespace cacheinf {

// 0 if there are no numbers.
double PercentileOf(std::vector<double> numbers, double share);

// Rounds a number to as many digits as a measurement is worth, to keep files short.
double Rounded(double number);

// Fits a rising curve of few points. Samples of neighbouring shares become one point, their median,
// so that outliers do not count. 0 and 1 stay points of their own.
Curve FitByMedians(const std::vector<Curve::Point>& samples);

// The same with means, for samples that alternate between 0 and 1.
Curve FitByMeans(const std::vector<Curve::Point>& samples);

// Returns outer(inner(x)) at the points of `inner`. REQUIRES: `inner` gives shares.
Curve Composed(const Curve& outer, const Curve& inner);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_FIT_H_
