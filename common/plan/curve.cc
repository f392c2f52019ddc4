#include "common/plan/curve.h"

#include <algorithm>

namespace cacheinf {

double Curve::At(double x) const {
  if (points.empty()) return 0.0;
  const auto after = std::ranges::upper_bound(points, x, {}, &Point::x);
  if (after == points.begin()) return points.front().y;
  if (after == points.end()) return points.back().y;
  const Point& before = *(after - 1);
  return before.y + (after->y - before.y) * (x - before.x) / (after->x - before.x);
}

Curve FitRising(std::span<const Curve::Point> samples) {
  std::vector<Curve::Point> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted, {}, &Curve::Point::x);
  // Neighbours that share one y, the mean of their samples.
  struct Pool {
    double sum = 0;
    double count = 0;
    std::vector<double> xs;

    double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;
  for (size_t i = 0; i < sorted.size();) {
    Pool pool{.xs = {sorted[i].x}};
    for (; i < sorted.size() && sorted[i].x == pool.xs.front(); ++i) {
      pool.sum += sorted[i].y;
      pool.count += 1;
    }
    while (!pools.empty() && pools.back().mean() > pool.mean()) {
      Pool& before = pools.back();
      pool.sum += before.sum;
      pool.count += before.count;
      pool.xs.insert(pool.xs.begin(), before.xs.begin(), before.xs.end());
      pools.pop_back();
    }
    pools.push_back(std::move(pool));
  }
  Curve curve;
  for (const Pool& pool : pools) {
    for (const double x : pool.xs) curve.points.push_back({x, pool.mean()});
  }
  return curve;
}

}  // namespace cacheinf
