#include "common/exec/spreads.h"

#include <algorithm>
#include <cmath>

#include "common/exec/frame_decision.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

constexpr double kLeastShare = 0.1;
constexpr double kEnoughPixels = 4096;
constexpr double kLeastSpread = 1e-12;
// For 8-bit maps: a number on an edge falls to either side, and such a step must be no change at
// the usual threshold, a tenth of a spread.
constexpr double kLeastSteps = 10.0;

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

// The numbers of an 8-bit map's pixels, in steps, without the spare bytes of its words.
std::vector<float> InSteps(const std::vector<float>& words, const Value& map) {
  const auto words_of_pixel = static_cast<size_t>(map.shape[1]);
  std::vector<float> numbers;
  numbers.reserve(words.size() * kBytesOfWord);
  for (size_t first = 0; first < words.size(); first += words_of_pixel) {
    for (int c = 0; c < map.channels; ++c) {
      numbers.push_back(static_cast<float>(ByteOf(&words[first], c, map.steps.is_signed)));
    }
  }
  return numbers;
}

std::vector<float> InverseSpreadsOf(Backend& backend, const TensorView& view, const Value& map) {
  const Mask some = SomePixelsOf(static_cast<int>(view.dims[2]), static_cast<int>(view.dims[3]));
  const auto pixels = static_cast<size_t>(view.dims[0] * CountActive(some));
  std::vector<float> numbers(pixels * static_cast<size_t>(view.dims[1]));
  backend.Gather(view, some, numbers);
  if (map.is_eight_bit()) numbers = InSteps(numbers, map);
  const std::vector<double> variances =
      pixels == 1 ? VariancesAmongChannels(numbers) : Variances(numbers, numbers.size() / pixels);
  double mean_variance = 0.0;
  for (const double variance : variances) mean_variance += variance;
  mean_variance /= static_cast<double>(variances.size());
  const double least = std::max(kLeastShare * std::sqrt(mean_variance),
                                map.is_eight_bit() ? kLeastSteps : kLeastSpread);
  const auto count = static_cast<size_t>(SpreadCount(map));
  const double larger =
      std::sqrt(static_cast<double>(count) / static_cast<double>(variances.size()));
  std::vector<float> inverses;
  for (const double variance : variances) {
    inverses.push_back(static_cast<float>(larger / std::max(std::sqrt(variance), least)));
  }
  inverses.resize(count, 1.0f);
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
      if (!value.is_map() || !state.is_kept(output)) continue;
      spreads[output] = InverseSpreadsOf(state.backend(), state.view(output), value);
    }
  }
  return spreads;
}

}  // namespace cacheinf
