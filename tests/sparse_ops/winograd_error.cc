#include "tests/sparse_ops/winograd_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "sparse_ops/winograd.h"

namespace cacheinf {
namespace {

constexpr double kUnit = 0x1p-24;  // of rounding

template <size_t kRows, size_t kColumns>
using Matrix = std::array<std::array<double, kColumns>, kRows>;

// The transforms' matrices; only the magnitudes of entries matter here.
struct Magnitudes {
  Matrix<6, 6> input = {};    // B^T
  Matrix<6, 3> weights = {};  // G
  Matrix<4, 6> output = {};   // A^T

  // By Cook and Toom, from the points.
  Magnitudes() {
    const double a = kWinogradPoints[0];
    const double b = kWinogradPoints[1];
    const std::vector<double> points = {0.0, a, -a, b, -b};
    const auto polynomial_without = [&](size_t left_out) {
      std::vector<double> coefficients = {1.0};
      for (size_t m = 0; m < points.size(); ++m) {
        if (m == left_out) continue;
        coefficients.insert(coefficients.begin(), 0.0);
        for (size_t k = 0; k + 1 < coefficients.size(); ++k) {
          coefficients[k] -= points[m] * coefficients[k + 1];
        }
      }
      return coefficients;
    };
    for (size_t i = 0; i < 6; ++i) {
      const std::vector<double> row = polynomial_without(i);
      for (size_t k = 0; k < row.size(); ++k) input[i][k] = std::fabs(row[k]);
      if (i == 5) break;
      double divisor = 1.0;
      for (size_t m = 0; m < 5; ++m) divisor *= m == i ? 1.0 : std::fabs(points[i] - points[m]);
      const double point = std::fabs(points[i]);
      for (size_t k = 0; k < 3; ++k) weights[i][k] = std::pow(point, k) / divisor;
      for (size_t k = 0; k < 4; ++k) output[k][i] = std::pow(point, k);
    }
    weights[5][2] = 1.0;
    output[3][5] = 1.0;
  }
};

// m x m^T.
template <size_t kRows, size_t kColumns>
Matrix<kRows, kRows> Sandwich(const Matrix<kRows, kColumns>& m,
                              const Matrix<kColumns, kColumns>& x) {
  Matrix<kRows, kColumns> half = {};
  Matrix<kRows, kRows> result = {};
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t l = 0; l < kColumns; ++l) {
      for (size_t k = 0; k < kColumns; ++k) half[i][l] += m[i][k] * x[k][l];
    }
    for (size_t j = 0; j < kRows; ++j) {
      for (size_t l = 0; l < kColumns; ++l) result[i][j] += half[i][l] * m[j][l];
    }
  }
  return result;
}

// What bounds the rounding errors of a sum up to a factor: the algorithm with every number replaced
// by its magnitude.
class ErrorScale {
 public:
  explicit ErrorScale(const ConvArgs& args)
      : args_(args), inputs_(args.input.channels / args.spec.groups) {
    for (int pair = 0; pair < args.output.channels * inputs_; ++pair) {
      Matrix<3, 3> taps = {};
      for (size_t i = 0; i < 9; ++i) {
        taps[i / 3][i % 3] = std::fabs(args.weights[static_cast<size_t>(pair) * 9 + i]);
      }
      weights_.push_back(Sandwich(magnitudes_.weights, taps));
    }
  }

  // Chooses the tile at (row, column).
  void TakeTile(int image, int row, int column) {
    inputs_of_tile_.clear();
    for (int channel = 0; channel < args_.input.channels; ++channel) {
      Matrix<6, 6> patch = {};
      for (int i = 0; i < 36; ++i) {
        const int y = row - args_.spec.rows.pad_begin + i / 6;
        const int x = column - args_.spec.columns.pad_begin + i % 6;
        if (y < 0 || y >= args_.input.height || x < 0 || x >= args_.input.width) continue;
        patch[static_cast<size_t>(i) / 6][static_cast<size_t>(i) % 6] =
            std::fabs(args_.input.Pixel(image, y, x)[channel]);
      }
      inputs_of_tile_.push_back(Sandwich(magnitudes_.input, patch));
    }
  }

  // The scale of one output channel, for the tile's pixels.
  Matrix<4, 4> OfChannel(int channel) const {
    const int first_input = channel / (args_.output.channels / args_.spec.groups) * inputs_;
    Matrix<6, 6> sums = {};
    for (int i = 0; i < inputs_; ++i) {
      const auto& input = inputs_of_tile_[static_cast<size_t>(first_input + i)];
      const auto& weights = weights_[static_cast<size_t>(channel * inputs_ + i)];
      for (size_t j = 0; j < 36; ++j) {
        sums[j / 6][j % 6] += input[j / 6][j % 6] * weights[j / 6][j % 6];
      }
    }
    return Sandwich(magnitudes_.output, sums);
  }

 private:
  ConvArgs args_;
  int inputs_;  // channels of a group
  Magnitudes magnitudes_;
  std::vector<Matrix<6, 6>> weights_;
  std::vector<Matrix<6, 6>> inputs_of_tile_;
};

// The bound of one number, from the scale of its sum's error.
double BoundOf(const ConvArgs& args, double scale, int image, int row, int column, int channel) {
  // Every number on the way to a sum passes at most 3 + 3 roundings of the input's transform, one
  // of the weight, one a channel, and 4 + 4 of the output's transform; in the reference one a tap.
  const int inputs = args.input.channels / args.spec.groups;
  const double sum_roundings = 15 + inputs + 9 * inputs;
  constexpr double kEpilogueRoundings = 8.0;
  double addends = scale;
  if (args.bias != nullptr) addends += std::fabs(args.bias[channel]);
  if (args.residual.data != nullptr) {
    addends += std::fabs(args.residual.Pixel(image, row, column)[channel]);
  }
  const bool is_linear = args.activation.function.kind == Function::Kind::kIdentity;
  const double steepness = is_linear ? 1.0 : 2.0;
  return steepness * (scale * sum_roundings + addends * kEpilogueRoundings) * kUnit;
}

}  // namespace

std::vector<double> WinogradErrorBounds(const ConvArgs& args, const std::vector<float>& memory) {
  std::vector<double> bounds(memory.size());
  ErrorScale scale(args);
  const ImageView& output = args.output;
  constexpr int kSize = kWinogradTile;
  const auto bound_tile = [&](int image, int top, int left) {
    scale.TakeTile(image, top, left);
    for (int channel = 0; channel < output.channels; ++channel) {
      const Matrix<4, 4> of_tile = scale.OfChannel(channel);
      for (int y = top; y < std::min(top + kSize, output.height); ++y) {
        for (int x = left; x < std::min(left + kSize, output.width); ++x) {
          const auto index = output.Pixel(image, y, x) + channel - memory.data();
          bounds[static_cast<size_t>(index)] =
              BoundOf(args, of_tile[static_cast<size_t>(y - top)][static_cast<size_t>(x - left)],
                      image, y, x, channel);
        }
      }
    }
  };
  for (int image = 0; image < output.batch; ++image) {
    for (int top = 0; top < output.height; top += kSize) {
      for (int left = 0; left < output.width; left += kSize) bound_tile(image, top, left);
    }
  }
  return bounds;
}

}  // namespace cacheinf
