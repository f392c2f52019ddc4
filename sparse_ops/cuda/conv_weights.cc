#include "sparse_ops/cuda/conv_weights.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "sparse_ops/cuda/numbers.h"

namespace cacheinf::cuda {
namespace {

int ToFours(int count) { return (count + 3) / 4 * 4; }

class WeightPacker {
 public:
  WeightPacker(const ConvArgs& args, Precision precision)
      : args_(args),
        spec_(args.spec),
        precision_(precision),
        group_inputs_(args.input.channels / args.spec.groups),
        group_outputs_(args.output.channels / args.spec.groups) {}

  ConvWeights Pack() {
    const bool is_direct = !HasTiles(spec_.groups, group_inputs_, group_outputs_);
    packed_.is_direct = is_direct;
    packed_.padded_inputs = is_direct ? group_inputs_ : ToFours(group_inputs_);
    packed_.padded_outputs = ToFours(is_direct ? args_.output.channels : group_outputs_);
    if (is_direct) {
      PackDirect();
      return std::move(packed_);
    }
    const std::vector<std::vector<int>> rows = PackAxis(spec_.rows, packed_.rows, packed_.row_taps);
    const std::vector<std::vector<int>> columns =
        PackAxis(spec_.columns, packed_.columns, packed_.column_taps);
    for (const std::vector<int>& row_taps : rows) {
      for (const std::vector<int>& column_taps : columns) {
        packed_.phase_weights.push_back(static_cast<int64_t>(packed_.words.size()));
        for (int group = 0; group < spec_.groups; ++group) {
          PackMatrix(group, row_taps, column_taps);
        }
      }
    }
    return std::move(packed_);
  }

 private:
  // Returns each phase's taps of the kernel, ascending.
  std::vector<std::vector<int>> PackAxis(const WindowAxis& window, ConvAxis& axis,
                                         std::vector<PhaseTaps>& phases) const {
    std::vector<std::vector<int>> kernel_taps;
    if (!spec_.transposed) {
      axis = {1, window.stride, 1, window.dilation};
      phases = {{window.kernel, -window.pad_begin}};
      kernel_taps.emplace_back(static_cast<size_t>(window.kernel));
      std::iota(kernel_taps[0].begin(), kernel_taps[0].end(), 0);
      return kernel_taps;
    }
    // The taps of a phase lie this far apart.
    const int between = window.stride / std::gcd(window.stride, window.dilation);
    axis = {window.stride, 1, window.stride, -(between * window.dilation / window.stride)};
    for (int phase = 0; phase < window.stride; ++phase) {
      std::vector<int>& taps = kernel_taps.emplace_back();
      for (int k = 0; k < window.kernel; ++k) {
        if ((phase + window.pad_begin - k * window.dilation) % window.stride == 0) {
          taps.push_back(k);
        }
      }
      const int offset = taps.empty() ? 0 : window.pad_begin - taps[0] * window.dilation;
      phases.push_back({static_cast<int>(taps.size()), offset});
    }
    return kernel_taps;
  }

  // `output` and `input` are channels of the group.
  float Weight(int group, int output, int input, int ky, int kx) const {
    const int64_t tap = static_cast<int64_t>(ky) * spec_.columns.kernel + kx;
    const int64_t area = static_cast<int64_t>(spec_.rows.kernel) * spec_.columns.kernel;
    const int64_t channel =
        spec_.transposed
            ? static_cast<int64_t>(group * group_inputs_ + input) * group_outputs_ + output
            : static_cast<int64_t>(group * group_outputs_ + output) * group_inputs_ + input;
    return args_.weights[channel * area + tap];
  }

  void PackMatrix(int group, const std::vector<int>& row_taps,
                  const std::vector<int>& column_taps) {
    const auto columns = static_cast<size_t>(packed_.padded_outputs);
    const size_t taps = row_taps.size() * column_taps.size();
    const size_t depth = (taps * static_cast<size_t>(packed_.padded_inputs) + kConvDepth - 1) /
                         kConvDepth * kConvDepth;
    // ConvGemm says why -0.
    std::vector<float> matrix(depth * columns, -0.0f);
    float* row = matrix.data();
    for (const int ky : row_taps) {
      for (const int kx : column_taps) {
        for (int input = 0; input < packed_.padded_inputs; ++input, row += columns) {
          if (input >= group_inputs_) continue;
          for (int output = 0; output < group_outputs_; ++output) {
            row[output] = Weight(group, output, input, ky, kx);
          }
        }
      }
    }
    const size_t numbers =
        precision_ == Precision::kExact || precision_ == Precision::kTf32 ? 1 : 2;
    const size_t row_depth = numbers * WeightWords(precision_);
    for (size_t row_k = 0; row_k < depth; row_k += row_depth) {
      for (size_t n = 0; n < columns; ++n) {
        for (size_t k = row_k; k < row_k + row_depth; k += numbers) {
          const float* const first = matrix.data() + k * columns + n;
          packed_.words.push_back(Word(*first, numbers == 1 ? 0.0f : first[columns]));
        }
      }
    }
  }

  uint32_t Word(float low, float high) const {
    switch (precision_) {
      case Precision::kTf32:
        return ToTf32(low);
      case Precision::kHalf:
        return PackHalves(low, high);
      case Precision::kBfloat16:
        return PackBfloat16s(low, high);
      default:
        return BitsOf(low);
    }
  }

  void PackDirect() {
    for (int ky = 0; ky < spec_.rows.kernel; ++ky) {
      for (int kx = 0; kx < spec_.columns.kernel; ++kx) {
        for (int input = 0; input < group_inputs_; ++input) {
          for (int channel = 0; channel < packed_.padded_outputs; ++channel) {
            const bool is_there = channel < args_.output.channels;
            packed_.words.push_back(BitsOf(
                is_there ? Weight(channel / group_outputs_, channel % group_outputs_, input, ky, kx)
                         : 0.0f));
          }
        }
      }
    }
  }

  const ConvArgs& args_;
  const ConvSpec& spec_;
  Precision precision_;
  int group_inputs_;
  int group_outputs_;
  ConvWeights packed_;
};

}  // namespace

ConvWeights PackConvWeights(const ConvArgs& args, Precision precision) {
  return WeightPacker(args, precision).Pack();
}

}  // namespace cacheinf::cuda
