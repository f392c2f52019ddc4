#ifndef CACHEINF_COMMON_PLAN_CURVE_H_
#define CACHEINF_COMMON_PLAN_CURVE_H_

#include <span>
#include <vector>

namespace cacheinf {

// A measured dependence on a share between 0 and 1: linear between its points, constant beyond
// them. Without points it is 0 everywhere.
struct Curve {
  struct Point {
    double x = 0;
    double y = 0;

    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  // x ascends

  double At(double x) const;

  bool operator==(const Curve&) const = default;

  static Curve Constant(double y) { return {{{0.0, y}}}; }
};

// Returns the never-falling curve nearest to the samples by least squares (pool adjacent
// violators), with one point for every x among them.
Curve FitRising(std::span<const Curve::Point> samples);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_CURVE_H_
