#include "common/exec/spreads.h"

#include <algorithm>
#include <cmath>

#include "sparse_ops/views.h"

namespace cacheinf {
namespace {

constexpr double kLeastShare = 0.1;
constexpr double kEnoughPixels = 4096;
constexpr double kLeastSpread = 1e-12;

// Of the rows and columns that are looked at, so that the frame does not wait for long.
int StepBetween(const ConstImageView& map) {
  const double pixels = static_cast<double>(map.height) * map.width;
  return std::max(1, static_cast<int>(std::sqrt(pixels / kEnoughPixels)));
}

std::vector<double> Variances(const ConstImageView& map) {
  const size_t channels = static_cast<size_t>(map.channels);
  std::vector<double> sums(channels);
  std::vector<double> squares(channels);
  const int step = StepBetween(map);
  double count = 0.0;
  for (int image = 0; image < map.batch; ++image) {
    for (int row = 0; row < map.height; row += step) {
      for (int column = 0; column < map.width; column += step) {
        const float* pixel = map.Pixel(image, row, column);
        ++count;
        for (size_t c = 0; c < channels; ++c) {
          const double number = pixel[c];
          sums[c] += number;
          squares[c] += number * number;
        }
      }
    }
  }
  for (size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / count;
    squares[c] = std::max(squares[c] / count - mean * mean, 0.0);
  }
  return squares;
}

// Of a map of one pixel, a gate say, no channel has a spread of its own: all have that of the
// channels among themselves.
std::vector<double> VariancesAmongChannels(const float* pixel, int channels) {
  double sum = 0.0;
  double squares = 0.0;
  for (int c = 0; c < channels; ++c) {
    const double number = pixel[c];
    sum += number;
    squares += number * number;
  }
  const double mean = sum / channels;
  return std::vector<double>(static_cast<size_t>(channels),
                             std::max(squares / channels - mean * mean, 0.0));
}

std::vector<float> InverseSpreadsOf(const ConstImageView& map) {
  const bool is_one_pixel = map.batch * map.height * map.width == 1;
  const std::vector<double> variances =
      is_one_pixel ? VariancesAmongChannels(map.Pixel(0, 0, 0), map.channels) : Variances(map);
  double mean_variance = 0.0;
  for (const double variance : variances) mean_variance += variance;
  mean_variance /= static_cast<double>(variances.size());
  const double least = std::max(kLeastShare * std::sqrt(mean_variance), kLeastSpread);
  std::vector<float> inverses;
  for (const double variance : variances) {
    inverses.push_back(static_cast<float>(1.0 / std::max(std::sqrt(variance), least)));
  }
  return inverses;
}

}  // namespace

InverseSpreads MeasureSpreads(ModelState& state) {
  state.Settle();
  InverseSpreads spreads(state.graph().values.size());
  for (const Operator& op : state.graph().operators) {
    for (const ValueId output : op.outputs) {
      if (!state.graph().value(output).is_map() || !state.is_kept(output)) continue;
      spreads[output] = InverseSpreadsOf(AsImage(state.view(output)));
    }
  }
  return spreads;
}

}  // namespace cacheinf
