#include "sparse_ops/winograd.h"

#include <algorithm>
#include <cstddef>

namespace cacheinf {
namespace {

// What three weights contribute to each of six places, `step` apart.
std::array<double, kWinogradPatch> TransformThree(const double* weights, int step) {
  const double points[] = {0.0, kWinogradPoints[0], -kWinogradPoints[0], kWinogradPoints[1],
                           -kWinogradPoints[1]};
  std::array<double, kWinogradPatch> places;
  for (int i = 0; i < kWinogradPatch - 1; ++i) {
    double divisor = 1.0;
    for (int j = 0; j < kWinogradPatch - 1; ++j) {
      if (j != i) divisor *= points[i] - points[j];
    }
    const double value =
        weights[0] + points[i] * weights[step] + points[i] * points[i] * weights[2 * step];
    places[static_cast<size_t>(i)] = value / divisor;
  }
  places[kWinogradPatch - 1] = weights[2 * step];
  return places;
}

bool IsPlainThree(const WindowAxis& axis) {
  return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
}

}  // namespace

bool CanBeWinograd(const ConvSpec& spec) {
  return !spec.transposed && IsPlainThree(spec.rows) && IsPlainThree(spec.columns);
}

std::array<float, kWinogradPlaces> WinogradWeights(const float* taps) {
  double weights[9];
  std::copy(taps, taps + 9, weights);
  double rows[kWinogradPatch * 3];  // [place][column]
  for (int column = 0; column < 3; ++column) {
    const auto transformed = TransformThree(weights + column, 3);
    for (size_t i = 0; i < kWinogradPatch; ++i)
      rows[i * 3 + static_cast<size_t>(column)] = transformed[i];
  }
  std::array<float, kWinogradPlaces> places;
  for (size_t i = 0; i < kWinogradPatch; ++i) {
    const auto transformed = TransformThree(rows + i * 3, 1);
    for (size_t k = 0; k < kWinogradPatch; ++k) {
      places[i * kWinogradPatch + k] = static_cast<float>(transformed[k]);
    }
  }
  return places;
}

}  // namespace cacheinf
