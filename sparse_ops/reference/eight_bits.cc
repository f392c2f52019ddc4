#include "sparse_ops/eight_bits.h"

#include <algorithm>
#include <cmath>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/pool_taps.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/tensor_walk.h"

namespace cacheinf::reference {
namespace {

// Calls visit(n, y, x, pixel) for the active pixels of every image.
void ForEachActive(const ImageView& image, const ActivePixels& pixels, const auto& visit) {
  for (int n = 0; n < image.batch; ++n) {
    for (int y = pixels.rows.begin; y < pixels.rows.end && !pixels.is_sparse; ++y) {
      for (int x = 0; x < image.width; ++x) visit(n, y, x, image.Pixel(n, y, x));
    }
    for (int i = 0; i < pixels.run_count; ++i) {
      const PixelRun& run = pixels.runs[i];
      for (int x = run.begin; x < run.end; ++x) visit(n, run.row, x, image.Pixel(n, run.row, x));
    }
  }
}

class QuantConvKernel {
 public:
  explicit QuantConvKernel(const QuantConvArgs& args)
      : args_(args),
        group_inputs_(args.in_channels / args.spec.groups),
        group_outputs_(args.out_channels / args.spec.groups) {}

  // acc
  int32_t Sum(int n, int y, int x, int channel) const {
    const ConvSpec& spec = args_.spec;
    uint32_t sum = args_.bias == nullptr ? 0 : static_cast<uint32_t>(args_.bias[channel]);
    for (int ky = 0; ky < spec.rows.kernel; ++ky) {
      const int64_t in_y = Tap(spec.rows, y, ky);
      if (in_y < 0 || in_y >= args_.input.height) continue;
      for (int kx = 0; kx < spec.columns.kernel; ++kx) {
        const int64_t in_x = Tap(spec.columns, x, kx);
        if (in_x < 0 || in_x >= args_.input.width) continue;
        sum += SumOfTap(args_.input.Pixel(n, static_cast<int>(in_y), static_cast<int>(in_x)),
                        channel, ky * spec.columns.kernel + kx);
      }
    }
    return static_cast<int32_t>(sum);
  }

 private:
  static int64_t Tap(const WindowAxis& axis, int out, int k) {
    return int64_t{out} * axis.stride - axis.pad_begin + int64_t{k} * axis.dilation;
  }

  uint32_t SumOfTap(const float* pixel, int channel, int tap) const {
    const int area = args_.spec.rows.kernel * args_.spec.columns.kernel;
    const int first_input = channel / group_outputs_ * group_inputs_;
    const int zero = args_.weight_zeros == nullptr ? 0 : args_.weight_zeros[channel];
    const float* const first_word =
        args_.weights + int64_t{channel} * WordCount(group_inputs_) * area + tap;
    uint32_t sum = 0;
    for (int i = 0; i < group_inputs_; ++i) {
      const float* const word = first_word + int64_t{i / kBytesOfWord} * area;
      const int w = ByteOf(word, i % kBytesOfWord, /*is_signed=*/true) - zero;
      const int q = ByteOf(pixel, first_input + i, args_.input_steps.is_signed);
      sum += static_cast<uint32_t>((q - args_.input_steps.zero_point) * w);
    }
    return sum;
  }

  const QuantConvArgs& args_;
  int group_inputs_;
  int group_outputs_;
};

// r; `residuals` are the pixel's.
float ResidualOf(const QuantConvArgs& args, const float* residuals, int channel) {
  const Steps& steps = args.residual_steps;
  return args.is_residual_float ? residuals[channel]
                                : FromSteps(ByteOf(residuals, channel, steps.is_signed), steps);
}

// y
float ValueOf(const QuantConvArgs& args, int32_t sum, const float* residuals, int channel) {
  const float v = static_cast<float>(sum) * args.scales[channel];
  if (residuals == nullptr) return Apply(args.activation, v);
  const float residual = ResidualOf(args, residuals, channel);
  return args.activation_before_residual ? Apply(args.activation, v) + residual
                                         : Apply(args.activation, v + residual);
}

// q with rounds_sums
int RoundedSum(const QuantConvArgs& args, int32_t sum, const float* residuals, int channel) {
  const Steps& sums = args.sum_steps;
  const float steps = static_cast<float>(sum) * (args.scales[channel] / sums.scale);
  int q = Clamped(std::nearbyint(steps), sums.zero_point, args.low, args.high);
  if (args.table != nullptr) q = args.table[q & 0xff];
  if (residuals == nullptr) return q;
  const float both = FromSteps(q, args.rounded_steps()) + ResidualOf(args, residuals, channel);
  return ToSteps(Apply(args.activation, both), args.steps);
}

// Stores the result of acc.
void StoreSum(const QuantConvArgs& args, int32_t sum, const float* residuals, int channel,
              float* pixel) {
  if (args.rounds_sums && args.gives_floats) {
    pixel[channel] = FromSteps(RoundedSum(args, sum, residuals, channel), args.rounded_steps());
  } else if (args.rounds_sums) {
    SetByte(pixel, channel, RoundedSum(args, sum, residuals, channel));
  } else if (args.gives_floats) {
    pixel[channel] = ValueOf(args, sum, residuals, channel);
  } else {
    const float steps = ValueOf(args, sum, residuals, channel) / args.steps.scale;
    SetByte(pixel, channel,
            Clamped(std::nearbyint(steps), args.steps.zero_point, args.low, args.high));
  }
}

}  // namespace

void Compute(const QuantiseArgs& args, const ActivePixels& pixels) {
  const int channels = args.input.channels;
  ForEachActive(args.output, pixels, [&](int n, int y, int x, float* pixel) {
    const float* const from = args.input.Pixel(n, y, x);
    for (int c = 0; c < channels; ++c) SetByte(pixel, c, ToSteps(from[c], args.steps));
    FillSpare(pixel, channels, args.steps.zero_point);
  });
}

void Compute(const DequantiseArgs& args, const ActivePixels& pixels) {
  ForEachActive(args.output, pixels, [&](int n, int y, int x, float* pixel) {
    const float* const from = args.input.Pixel(n, y, x);
    for (int c = 0; c < args.output.channels; ++c) {
      pixel[c] = FromSteps(ByteOf(from, c, args.steps.is_signed), args.steps);
    }
  });
}

void Compute(const FakeQuantiseArgs& args) {
  ForEachIndex(args.output, [&](const TensorIndex& index) {
    *ElementAt(args.output, index) =
        FromSteps(ToSteps(*ElementAt(args.input, index), args.steps), args.steps);
  });
}

void Compute(const QuantConvArgs& args, const ActivePixels& pixels) {
  const QuantConvKernel kernel(args);
  ForEachActive(args.output, pixels, [&](int n, int y, int x, float* pixel) {
    const float* const residuals =
        args.residual.data == nullptr ? nullptr : args.residual.Pixel(n, y, x);
    for (int c = 0; c < args.out_channels; ++c) {
      StoreSum(args, kernel.Sum(n, y, x, c), residuals, c, pixel);
    }
    if (!args.gives_floats) FillSpare(pixel, args.out_channels, args.steps.zero_point);
  });
}

void Compute(const QuantLinearArgs& args) {
  const QuantConvArgs& product = args.product;
  const Steps& steps = product.input_steps;
  const int last = args.input.rank - 1;
  const int words = WordCount(product.in_channels);
  ForEachIndex(args.output, [&](const TensorIndex& index) {
    const auto channel = static_cast<int>(index[last]);
    TensorIndex from = index;
    const int zero = product.weight_zeros == nullptr ? 0 : product.weight_zeros[channel];
    auto sum = static_cast<uint32_t>(product.bias == nullptr ? 0 : product.bias[channel]);
    for (int k = 0; k < product.in_channels; ++k) {
      from[last] = k;
      const int q = ToSteps(*ElementAt(args.input, from), steps);
      const float* const word = product.weights + int64_t{channel} * words + k / kBytesOfWord;
      const int w = ByteOf(word, k % kBytesOfWord, /*is_signed=*/true) - zero;
      sum += static_cast<uint32_t>((q - steps.zero_point) * w);
    }
    const auto acc = static_cast<int32_t>(sum);
    *ElementAt(args.output, index) =
        product.rounds_sums
            ? FromSteps(RoundedSum(product, acc, nullptr, channel), product.sum_steps)
            : ValueOf(product, acc, nullptr, channel);
  });
}

void Compute(const TableArgs& args, const ActivePixels& pixels) {
  ForEachActive(args.output, pixels, [&](int n, int y, int x, float* pixel) {
    const float* const from = args.input.Pixel(n, y, x);
    for (int c = 0; c < args.channels; ++c) {
      SetByte(pixel, c, args.entries[ByteOf(from, c, /*is_signed=*/false)]);
    }
    FillSpare(pixel, args.channels, args.steps.zero_point);
  });
}

void Compute(const QuantBinaryArgs& args, const ActivePixels& pixels) {
  ForEachActive(args.output, pixels, [&](int n, int y, int x, float* pixel) {
    const float* const a_pixel = args.a.Pixel(n, y, x);
    const float* const b_pixel = args.b.Pixel(n, y, x);
    for (int c = 0; c < args.channels; ++c) {
      const float a = FromSteps(ByteOf(a_pixel, c, args.a_steps.is_signed), args.a_steps);
      const float b = FromSteps(ByteOf(b_pixel, c, args.b_steps.is_signed), args.b_steps);
      SetByte(pixel, c, ToSteps(Apply(args.activation, Combine(args.kind, a, b)), args.steps));
    }
    FillSpare(pixel, args.channels, args.steps.zero_point);
  });
}

void Compute(const QuantPoolArgs& args, const ActivePixels& pixels) {
  const bool is_max = args.spec.kind == PoolSpec::Kind::kMax;
  const Steps& from = args.input_steps;
  ForEachActive(args.output, pixels, [&](int n, int y, int x, float* pixel) {
    const PoolTaps rows = TapsOfPool(args.spec.rows, args.input.height, y);
    const PoolTaps columns = TapsOfPool(args.spec.columns, args.input.width, x);
    const float divisor = PoolDivisor(args.spec, rows, columns);
    for (int c = 0; c < args.channels; ++c) {
      int largest = from.low();
      int64_t sum = 0;
      for (int64_t in_y = rows.begin; in_y < rows.end; in_y += rows.step) {
        for (int64_t in_x = columns.begin; in_x < columns.end; in_x += columns.step) {
          const int q = ByteOf(args.input.Pixel(n, static_cast<int>(in_y), static_cast<int>(in_x)),
                               c, from.is_signed);
          largest = std::max(largest, q);
          sum += q - from.zero_point;
        }
      }
      const auto total = static_cast<float>(sum);
      const float mean = divisor == 0.0f ? total : total / divisor;
      SetByte(pixel, c, is_max ? largest : ToSteps(mean * from.scale, args.steps));
    }
    FillSpare(pixel, args.channels, args.steps.zero_point);
  });
}

}  // namespace cacheinf::reference
