#include <cmath>

#include "sparse_ops/reference/channel_function.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf::reference {
namespace {

// Where the weights of one tap begin, and how far apart those of a group's input channels lie.
struct TapWeights {
  const float* first;
  int64_t stride;
};

class ConvKernel {
 public:
  explicit ConvKernel(const ConvArgs& args)
      : args_(args),
        spec_(args.spec),
        group_inputs_(args.input.channels / args.spec.groups),
        group_outputs_(args.output.channels / args.spec.groups) {}

  float Output(int n, int y, int x, int channel) const {
    float value = spec_.transposed ? TransposedSum(n, y, x, channel) : Sum(n, y, x, channel);
    if (args_.bias != nullptr) value += args_.bias[channel];
    if (args_.residual.data == nullptr) return Activated(value, channel);
    const float residual = args_.residual.Pixel(n, y, x)[channel];
    return args_.activation_before_residual ? Activated(value, channel) + residual
                                            : Activated(value + residual, channel);
  }

 private:
  float Activated(float value, int channel) const {
    return Apply(args_.activation, value, channel);
  }

  float Sum(int n, int y, int x, int channel) const {
    float sum = 0.0f;
    for (int ky = 0; ky < spec_.rows.kernel; ++ky) {
      const int64_t in_y = Tap(spec_.rows, y, ky);
      for (int kx = 0; kx < spec_.columns.kernel; ++kx) {
        const int64_t in_x = Tap(spec_.columns, x, kx);
        sum = AddTap(n, in_y, in_x, channel, ky, kx, sum);
      }
    }
    return sum;
  }

  float TransposedSum(int n, int y, int x, int channel) const {
    float sum = 0.0f;
    for (int ky = 0; ky < spec_.rows.kernel; ++ky) {
      int64_t in_y = 0;
      if (!TransposedTap(spec_.rows, y, ky, in_y)) continue;
      for (int kx = 0; kx < spec_.columns.kernel; ++kx) {
        int64_t in_x = 0;
        if (!TransposedTap(spec_.columns, x, kx, in_x)) continue;
        sum = AddTap(n, in_y, in_x, channel, ky, kx, sum);
      }
    }
    return sum;
  }

  static int64_t Tap(const WindowAxis& axis, int out, int k) {
    return static_cast<int64_t>(out) * axis.stride - axis.pad_begin +
           static_cast<int64_t>(k) * axis.dilation;
  }

  static bool TransposedTap(const WindowAxis& axis, int out, int k, int64_t& in) {
    const int64_t scaled =
        static_cast<int64_t>(out) + axis.pad_begin - static_cast<int64_t>(k) * axis.dilation;
    in = scaled / axis.stride;
    return scaled % axis.stride == 0;
  }

  float AddTap(int n, int64_t in_y, int64_t in_x, int channel, int ky, int kx, float sum) const {
    const int first_input = channel / group_outputs_ * group_inputs_;
    const TapWeights weights = Weights(channel, first_input, ky, kx);
    const bool is_inside =
        in_y >= 0 && in_y < args_.input.height && in_x >= 0 && in_x < args_.input.width;
    const float* pixel =
        is_inside
            ? args_.input.Pixel(n, static_cast<int>(in_y), static_cast<int>(in_x)) + first_input
            : nullptr;
    for (int ci = 0; ci < group_inputs_; ++ci) {
      const float value = is_inside ? pixel[ci] : 0.0f;
      sum = std::fma(value, weights.first[ci * weights.stride], sum);
    }
    return sum;
  }

  TapWeights Weights(int channel, int first_input, int ky, int kx) const {
    const int64_t area = static_cast<int64_t>(spec_.rows.kernel) * spec_.columns.kernel;
    const int64_t tap = static_cast<int64_t>(ky) * spec_.columns.kernel + kx;
    if (spec_.transposed) {
      const int64_t row = static_cast<int64_t>(first_input) * group_outputs_;
      return {args_.weights + (row + channel % group_outputs_) * area + tap, group_outputs_ * area};
    }
    return {args_.weights + channel * group_inputs_ * area + tap, area};
  }

  const ConvArgs& args_;
  const ConvSpec& spec_;
  int group_inputs_;
  int64_t group_outputs_;
};

}  // namespace

void Compute(const ConvArgs& args, const ActivePixels& pixels) {
  const ConvKernel kernel(args);
  for (int n = 0; n < args.output.batch; ++n) {
    for (int y = pixels.rows.begin; y < pixels.rows.end; ++y) {
      for (int x = 0; x < args.output.width; ++x) {
        float* pixel = args.output.Pixel(n, y, x);
        for (int c = 0; c < args.output.channels; ++c) pixel[c] = kernel.Output(n, y, x, c);
      }
    }
  }
}

}  // namespace cacheinf::reference
