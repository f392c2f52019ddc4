#include "common/exec/spreads.h"

#include <algorithm>
#include <cmath>

#include "common/exec/frame_decision.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

constexpr double kLeastShare = 0.1;
constexpr double kEnoughPixels = 4096;
constexpr double kLeastSpread = 1e-12;

// The pixels to look at, few enough that the next frame does not wait for long.
Mask SomePixelsOf(int height, int width) {
  const double pixels = static_cast<double>(height) * width;
  const int step = std::max(1, static_cast<int>(std::sqrt(pixels / kEnoughPixels)));
  Mask some(height, width);
  for (int row = 0; row < height; row += step) {
    for (int column = 0; column < width; column += step) some.view().Set(row, column);
  }
  return some;
}

// Takes numbers pixel by pixel.
std::vector<double> Variances(const std::vector<float>& numbers, size_t channels) {
  std::vector<double> sums(channels);
  std::vector<double> squares(channels);
  const size_t pixels = numbers.size() / channels;
  const auto count = static_cast<double>(pixels);
  for (size_t first = 0; first < numbers.size(); first += channels) {
    for (size_t c = 0; c < channels; ++c) {
      const double number = numbers[first + c];
      sums[c] += number;
      squares[c] += number * number;
    }
  }
  for (size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / count;
    squares[c] = std::max(squares[c] / count - mean * mean, 0.0);
  }
  return squares;
}

// In a map of one pixel (a gate, say) no channel has a spread of its own: all have the spread among
// the channels.
std::vector<double> VariancesAmongChannels(const std::vector<float>& pixel) {
  return std::vector<double>(pixel.size(), Variances(pixel, 1).front());
}

std::vector<float> InverseSpreadsOf(Backend& backend, const TensorView& map) {
  const Mask some = SomePixelsOf(static_cast<int>(map.dims[2]), static_cast<int>(map.dims[3]));
  const auto channels = static_cast<size_t>(map.dims[1]);
  const auto pixels = static_cast<size_t>(map.dims[0] * CountActive(some));
  std::vector<float> numbers(pixels * channels);
  backend.Gather(map, some, numbers);
  const std::vector<double> variances =
      pixels == 1 ? VariancesAmongChannels(numbers) : Variances(numbers, channels);
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
  FrameDecision settle;
  settle.kind = FrameDecision::Kind::kRefresh;
  state.Apply(settle, {}, {});
  InverseSpreads spreads(state.graph().values.size());
  for (const Operator& op : state.graph().operators) {
    for (const ValueId output : op.outputs) {
      const Value& value = state.graph().value(output);
      if (!value.is_map() || value.is_eight_bit() || !state.is_kept(output)) continue;
      spreads[output] = InverseSpreadsOf(state.backend(), state.view(output));
    }
  }
  return spreads;
}

}  // namespace cacheinf
