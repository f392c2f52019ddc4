#include "tests/sparse_ops/rounding_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

bool IsGentle(const ChannelFunction& activation, int channels) {
  constexpr std::array kGentle = {Kind::kIdentity,  Kind::kRelu, Kind::kSigmoid,  Kind::kSilu,
                                  Kind::kHardSwish, Kind::kGelu, Kind::kGeluTanh, Kind::kTanh,
                                  Kind::kSoftplus,  Kind::kErf,  Kind::kAbs,      Kind::kNegate,
                                  Kind::kMish,      Kind::kSin,  Kind::kCos};
  if (activation.function.kind == Kind::kPRelu) {
    const int slopes = activation.one_slope ? 1 : channels;
    for (int i = 0; i < slopes; ++i) {
      if (std::fabs(activation.slopes[i]) > 2.0f) return false;
    }
    return true;
  }
  return std::find(kGentle.begin(), kGentle.end(), activation.function.kind) != kGentle.end();
}

// A map without gaps.
struct PackedMap {
  std::vector<float> numbers;
  ImageView view;

  PackedMap(int batch, int channels, int height, int width)
      : numbers(static_cast<size_t>(int64_t{batch} * channels * height * width)) {
    view.data = numbers.data();
    view.batch = batch;
    view.channels = channels;
    view.height = height;
    view.width = width;
    view.pixel_stride = channels;
    view.row_stride = int64_t{channels} * width;
    view.batch_stride = view.row_stride * height;
  }
  PackedMap(const PackedMap&) = delete;
  PackedMap& operator=(const PackedMap&) = delete;
};

template <typename View, typename Visit>
void VisitPixels(const View& map, const Visit& visit) {
  for (int n = 0; n < map.batch; ++n) {
    for (int y = 0; y < map.height; ++y) {
      for (int x = 0; x < map.width; ++x) visit(n, y, x);
    }
  }
}

}  // namespace

std::vector<double> RoundingErrorBounds(const ConvArgs& args, const std::vector<float>& memory,
                                        double unit) {
  const ImageView& output = args.output;
  if (!IsGentle(args.activation, output.channels)) {
    return std::vector<double>(memory.size(), std::numeric_limits<double>::infinity());
  }
  const ConstImageView& input = args.input;
  PackedMap magnitudes(input.batch, input.channels, input.height, input.width);
  VisitPixels(input, [&](int n, int y, int x) {
    for (int c = 0; c < input.channels; ++c) {
      magnitudes.view.Pixel(n, y, x)[c] = std::fabs(input.Pixel(n, y, x)[c]);
    }
  });
  const int64_t products =
      int64_t{input.channels} / args.spec.groups * args.spec.rows.kernel * args.spec.columns.kernel;
  std::vector<float> weights(args.weights, args.weights + products * output.channels);
  for (float& weight : weights) weight = std::fabs(weight);
  PackedMap sums(output.batch, output.channels, output.height, output.width);
  ConvArgs of_magnitudes;
  of_magnitudes.spec = args.spec;
  of_magnitudes.input = magnitudes.view;
  of_magnitudes.weights = weights.data();
  of_magnitudes.output = sums.view;
  reference::Compute(of_magnitudes, Range{0, output.height});

  const double of_sum = 2 * unit + unit * unit + 2 * static_cast<double>(products) * 0x1p-24;
  constexpr double kOfEpilogue = 8 * 0x1p-24;
  const bool is_linear = args.activation.function.kind == Kind::kIdentity;
  std::vector<double> bounds(memory.size());
  VisitPixels(output, [&](int n, int y, int x) {
    for (int c = 0; c < output.channels; ++c) {
      const double sum = sums.view.Pixel(n, y, x)[c];
      double addends = sum;
      if (args.bias != nullptr) addends += std::fabs(args.bias[c]);
      if (args.residual.data != nullptr) addends += std::fabs(args.residual.Pixel(n, y, x)[c]);
      const auto index = output.Pixel(n, y, x) + c - memory.data();
      bounds[static_cast<size_t>(index)] =
          (is_linear ? 1 : 2) * (sum * of_sum + addends * kOfEpilogue);
    }
  });
  return bounds;
}

}  // namespace cacheinf
