#include "profiler/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "common/base/median.h"

namespace cacheinf {
namespace {

// Ends of bins; the bins of 0 and 1 hold nothing else.
constexpr std::array kBinEnds = {0.0,  0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15,  0.2,
                                 0.25, 0.3,   0.4,  0.5,  0.6,   0.7,  0.8,   0.9, 0.999, 1.0};

double MeanOf(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

Curve FitBins(const std::vector<Curve::Point>& samples, const auto& middle) {
  struct Bin {
    std::vector<double> xs;
    std::vector<double> ys;
  };
  std::array<Bin, kBinEnds.size()> bins;
  for (const Curve::Point& sample : samples) {
    const auto end = std::lower_bound(kBinEnds.begin(), kBinEnds.end() - 1, sample.x);
    Bin& bin = bins[static_cast<size_t>(end - kBinEnds.begin())];
    bin.xs.push_back(sample.x);
    bin.ys.push_back(sample.y);
  }
  std::vector<Curve::Point> points;
  for (const Bin& bin : bins) {
    if (bin.xs.empty()) continue;
    points.push_back({Rounded(MeanOf(bin.xs)), middle(bin.ys)});
  }
  Curve curve = FitRising(points);
  for (Curve::Point& point : curve.points) point.y = Rounded(point.y);
  return curve;
}

}  // namespace

double PercentileOf(std::vector<double> numbers, double share) {
  if (numbers.empty()) return 0;
  const auto index =
      static_cast<ptrdiff_t>(std::lround(share * static_cast<double>(numbers.size() - 1)));
  std::nth_element(numbers.begin(), numbers.begin() + index, numbers.end());
  return numbers[static_cast<size_t>(index)];
}

double Rounded(double number) {
  constexpr double kDigits = 1e4;
  if (number == 0 || !std::isfinite(number)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(number))));
  // Division gives the number nearest to the decimal one.
  const double scale = std::round(number / unit * kDigits);
  return unit >= 1 ? scale * unit / kDigits : scale / (kDigits / unit);
}

Curve FitByMedians(const std::vector<Curve::Point>& samples) { return FitBins(samples, MedianOf); }

Curve FitByMeans(const std::vector<Curve::Point>& samples) { return FitBins(samples, MeanOf); }

Curve Composed(const Curve& outer, const Curve& inner) {
  Curve composed = inner;
  for (Curve::Point& point : composed.points) point.y = Rounded(outer.At(point.y));
  return composed;
}

}  // namespace cacheinf
