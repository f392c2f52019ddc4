#include "common/tracker/consensus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace cacheinf {
namespace {

constexpr size_t kDrawn = 4;
constexpr int kMostDraws = 200;
constexpr double kConfidence = 0.995;
constexpr uint32_t kSeed = 1;
constexpr int kMostRefits = 8;
constexpr int kMostSteps = 8;  // of a fit
constexpr double kSmallChange = 1e-10;
constexpr double kSmallPivot = 1e-8;
constexpr double kWorthKeeping = 0.8;  // of those that agreed before a fit

constexpr size_t kUnknowns = 8;
using Numbers = std::array<double, kUnknowns>;  // of a homography, row by row; the ninth is 1
using Equations = std::array<std::array<double, kUnknowns + 1>, kUnknowns>;

struct Point {
  double x = 0;
  double y = 0;
};

// A pair of points, scaled to lie about 1 from the middle of their pictures.
struct Pair {
  Point frame;
  Point reference;
};

struct Middle {
  Point point;
  double scale = 1;  // pixels that become 1

  explicit Middle(const std::vector<cv::Point2f>& points) {
    const auto count = static_cast<double>(points.size());
    for (const cv::Point2f& p : points) {
      point.x += p.x / count;
      point.y += p.y / count;
    }
    double distance = 0;
    for (const cv::Point2f& p : points) {
      distance += (std::abs(p.x - point.x) + std::abs(p.y - point.y)) / count;
    }
    scale = std::max(distance, 1e-3);
  }
  Point From(const cv::Point2f& p) const {
    return {(p.x - point.x) / scale, (p.y - point.y) / scale};
  }
};

// Solves by elimination; returns nothing if the equations do not determine the numbers.
std::optional<Numbers> Solve(Equations equations) {
  for (size_t column = 0; column < kUnknowns; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < kUnknowns; ++row) {
      if (std::abs(equations[row][column]) > std::abs(equations[pivot][column])) pivot = row;
    }
    if (!(std::abs(equations[pivot][column]) > kSmallPivot)) return std::nullopt;
    std::swap(equations[pivot], equations[column]);
    for (size_t row = column + 1; row < kUnknowns; ++row) {
      const double factor = equations[row][column] / equations[column][column];
      for (size_t i = column; i <= kUnknowns; ++i) {
        equations[row][i] -= factor * equations[column][i];
      }
    }
  }
  Numbers solution;
  for (size_t row = kUnknowns; row-- > 0;) {
    double sum = equations[row][kUnknowns];
    for (size_t i = row + 1; i < kUnknowns; ++i) sum -= equations[row][i] * solution[i];
    solution[row] = sum / equations[row][row];
  }
  return solution;
}

struct Mapped {
  double x = 0;
  double y = 0;
  double w = 0;
};

Mapped Map(const Numbers& h, const Point& p) {
  const double w = h[6] * p.x + h[7] * p.y + 1;
  return {(h[0] * p.x + h[1] * p.y + h[2]) / w, (h[3] * p.x + h[4] * p.y + h[5]) / w, w};
}

std::optional<Numbers> FromFour(const std::array<const Pair*, kDrawn>& pairs) {
  Equations equations;
  for (size_t i = 0; i < kDrawn; ++i) {
    const auto& [from, to] = *pairs[i];
    equations[2 * i] = {from.x, from.y, 1, 0, 0, 0, -from.x * to.x, -from.y * to.x, to.x};
    equations[2 * i + 1] = {0, 0, 0, from.x, from.y, 1, -from.x * to.y, -from.y * to.y, to.y};
  }
  return Solve(equations);
}

bool Agrees(const Numbers& homography, const Pair& pair, double distance) {
  const Mapped at = Map(homography, pair.frame);
  const double x = at.x - pair.reference.x;
  const double y = at.y - pair.reference.y;
  return at.w > 0 && x * x + y * y <= distance * distance;
}

size_t CountAgreeing(const Numbers& homography, const std::vector<Pair>& pairs, double distance) {
  return static_cast<size_t>(std::count_if(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    return Agrees(homography, pair, distance);
  }));
}

// One Gauss-Newton step from the pairs that agree.
std::optional<Numbers> Step(const Numbers& h, const std::vector<Pair>& pairs) {
  Equations normal = {};
  const auto add = [&normal](const Numbers& slopes, double error) {
    for (size_t i = 0; i < kUnknowns; ++i) {
      for (size_t j = 0; j < kUnknowns; ++j) normal[i][j] += slopes[i] * slopes[j];
      normal[i][kUnknowns] -= slopes[i] * error;
    }
  };
  for (const Pair& pair : pairs) {
    const Mapped at = Map(h, pair.frame);
    const double x = pair.frame.x / at.w;
    const double y = pair.frame.y / at.w;
    const double one = 1 / at.w;
    add({x, y, one, 0, 0, 0, -x * at.x, -y * at.x}, at.x - pair.reference.x);
    add({0, 0, 0, x, y, one, -x * at.y, -y * at.y}, at.y - pair.reference.y);
  }
  return Solve(normal);
}

std::optional<Numbers> FittedTo(const std::vector<Pair>& pairs, Numbers homography) {
  for (int i = 0; i < kMostSteps; ++i) {
    const std::optional<Numbers> step = Step(homography, pairs);
    if (!step) return std::nullopt;
    double largest = 0;
    for (size_t j = 0; j < kUnknowns; ++j) {
      homography[j] += (*step)[j];
      largest = std::max(largest, std::abs((*step)[j]));
    }
    if (!std::isfinite(largest)) return std::nullopt;
    if (largest < kSmallChange) break;
  }
  return homography;
}

struct Candidate {
  Numbers homography = {};
  size_t count = 0;
};

Candidate Draw(const std::vector<Pair>& pairs, double distance) {
  std::mt19937 random(kSeed);
  Candidate best;
  double draws = kMostDraws;
  for (int draw = 0; draw < draws; ++draw) {
    std::array<const Pair*, kDrawn> drawn;
    for (const Pair*& pair : drawn) pair = &pairs[random() % pairs.size()];
    const std::optional<Numbers> homography = FromFour(drawn);
    if (!homography) continue;
    const size_t count = CountAgreeing(*homography, pairs, distance);
    if (count <= best.count) continue;
    best = {*homography, count};
    // As many draws as it takes to get four agreeing pairs once, with that confidence.
    const double share = static_cast<double>(count) / static_cast<double>(pairs.size());
    const double missed = 1 - std::pow(share, static_cast<double>(kDrawn));
    draws =
        missed > 0 ? std::min<double>(kMostDraws, std::log(1 - kConfidence) / std::log(missed)) : 0;
  }
  return best;
}

Candidate FitToAllThatAgree(const std::vector<Pair>& pairs, double distance, Candidate best) {
  std::vector<Pair> agreeing;
  for (int round = 0; round < kMostRefits; ++round) {
    agreeing.clear();
    std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(agreeing),
                 [&](const Pair& pair) { return Agrees(best.homography, pair, distance); });
    const std::optional<Numbers> fitted = FittedTo(agreeing, best.homography);
    if (!fitted) break;
    const size_t count = CountAgreeing(*fitted, pairs, distance);
    if (static_cast<double>(count) < kWorthKeeping * static_cast<double>(best.count)) break;
    const bool is_larger = count > best.count;
    best = {*fitted, count};
    if (!is_larger) break;
  }
  return best;
}

// Returns to pixels of whole pictures.
Homography OfWholePictures(const Numbers& h, const Middle& frame, const Middle& reference) {
  // H' = R H F with F from pixels of the frame and R to pixels of the reference.
  Homography out;
  const double rows[3][3] = {{h[0], h[1], h[2]}, {h[3], h[4], h[5]}, {h[6], h[7], 1}};
  double from_frame[3][3];
  for (int i = 0; i < 3; ++i) {
    from_frame[i][0] = rows[i][0] / frame.scale;
    from_frame[i][1] = rows[i][1] / frame.scale;
    from_frame[i][2] =
        rows[i][2] - (rows[i][0] * frame.point.x + rows[i][1] * frame.point.y) / frame.scale;
  }
  for (int j = 0; j < 3; ++j) {
    out.m[0][j] = reference.scale * from_frame[0][j] + reference.point.x * from_frame[2][j];
    out.m[1][j] = reference.scale * from_frame[1][j] + reference.point.y * from_frame[2][j];
    out.m[2][j] = from_frame[2][j];
  }
  const double last = out.m[2][2];
  for (auto& row : out.m) {
    for (double& number : row) number /= last;
  }
  return out;
}

}  // namespace

Consensus FindConsensus(const PointPairs& pairs, double inlier_pixels) {
  if (pairs.size() < kDrawn) return {};
  const Middle frame(pairs.frame);
  const Middle reference(pairs.reference);
  std::vector<Pair> normed(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    normed[i] = {frame.From(pairs.frame[i]), reference.From(pairs.reference[i])};
  }
  const double distance = inlier_pixels / reference.scale;
  const Candidate drawn = Draw(normed, distance);
  if (drawn.count == 0) return {};
  const Candidate fitted = FitToAllThatAgree(normed, distance, drawn);
  return {OfWholePictures(fitted.homography, frame, reference), fitted.count};
}

}  // namespace cacheinf
