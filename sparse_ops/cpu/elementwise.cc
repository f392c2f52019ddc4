#include <algorithm>
#include <array>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/functions.h"
#include "sparse_ops/cpu/runs.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf::cpu {
namespace {

// Strides of one number per channel (dimension 1), or of one number for all.
std::array<int64_t, TensorView::kMaxRank> ChannelStrides(bool one_for_all) {
  std::array<int64_t, TensorView::kMaxRank> strides = {};
  if (!one_for_all) strides[1] = 1;
  return strides;
}

bool IsIdentity(const Function& function) { return function.kind == Function::Kind::kIdentity; }

// Numbers that repeat every few elements, written out over a longer stretch, so that the pixels of
// a picture are computed together instead of three numbers at a time.
class Pattern {
 public:
  static constexpr int kCapacity = 512;

  Pattern(const float* period, int length) : length_(kCapacity / length * length) {
    for (int i = 0; i < length_; ++i) numbers_[i] = period[i % length];
  }

  const float* data() const { return numbers_; }
  int length() const { return length_; }

 private:
  int length_;
  float numbers_[kCapacity];
};

constexpr int kFewChannels = 16;

// Output pixels lie end to end. Pictures, with three channels, have a loop of their own.
void ReorderChannels(const int* order, int channels, const float* in, int64_t pixel_stride,
                     int pixels, float* out) {
  if (channels == 3) {
    const int first = order[0], second = order[1], third = order[2];
    for (int p = 0; p < pixels; ++p, in += pixel_stride, out += 3) {
      out[0] = in[first];
      out[1] = in[second];
      out[2] = in[third];
    }
    return;
  }
  for (int p = 0; p < pixels; ++p, in += pixel_stride, out += channels) {
    for (int c = 0; c < channels; ++c) out[c] = in[order[c]];
  }
}

// For a map with few channels whose pixels lie end to end. REQUIRES: args.channel_order is null or
// the output is not the input.
void ScaleShiftPixels(const ScaleShiftArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const ScaleShiftKernel scale_shift = ChooseFunctionKernels().scale_shift;
  const FunctionKernel activate = ChooseFunctionKernels().function(args.activation.function.kind);
  const ConstImageView input = AsImage(args.input);
  const ImageView output = AsImage(args.output);
  const int channels = output.channels;
  const Pattern scale(args.scale, channels);
  const Pattern shift(args.shift, channels);
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, channels, [&](int n, const PixelRun& run) {
    float* out = output.Pixel(n, run.row, run.begin);
    const float* in = input.Pixel(n, run.row, run.begin);
    const int columns = run.end - run.begin;
    if (args.channel_order != nullptr) {
      ReorderChannels(args.channel_order, channels, in, input.pixel_stride, columns, out);
      in = out;
    }
    const int count = columns * channels;
    for (int i = 0; i < count; i += scale.length()) {
      scale_shift(scale.data(), shift.data(), in + i, out + i, std::min(scale.length(), count - i));
    }
    if (!IsIdentity(args.activation.function)) activate(args.activation.function, out, out, count);
  });
}

// Whether both are maps whose channels lie end to end.
bool ArePixels(const ConstTensorView& input, const TensorView& output) {
  return output.rank == 4 &&
         (output.dims[1] == 1 || (output.strides[1] == 1 && input.strides[1] == 1));
}

// Calls fn(map) for the active pixels in parts that stay in a cache. REQUIRES: ArePixels.
void ForEachPixels(const ConstTensorView& input, const TensorView& output,
                   const ActivePixels& pixels, ThreadPool& pool, const auto& fn) {
  constexpr int kPartFloats = 4096;
  const ConstImageView from = AsImage(input);
  const ImageView to = AsImage(output);
  const int part = std::max(1, kPartFloats / to.channels);
  const ActiveRuns runs(pixels, to.batch, to.width);
  runs.ForEach(pool, to.channels, [&](int n, const PixelRun& run) {
    for (int x = run.begin; x < run.end; x += part) {
      fn(PixelMap{from.Pixel(n, run.row, x), from.pixel_stride, to.Pixel(n, run.row, x),
                  to.pixel_stride, std::min(part, run.end - x), to.channels});
    }
  });
}

// Works on what lies in `map.out`.
void ActivateInPlace(const ChannelFunction& activation, const PixelMap& map) {
  const FunctionKernels& kernels = ChooseFunctionKernels();
  if (activation.slopes != nullptr && !activation.one_slope) {
    return kernels.prelu(activation.slopes,
                         {map.out, map.out_step, map.out, map.out_step, map.pixels, map.channels});
  }
  if (IsIdentity(activation.function)) return;
  Function function = activation.function;
  if (activation.slopes != nullptr) function.alpha = activation.slopes[0];
  const FunctionKernel activate = kernels.function(function.kind);
  const bool end_to_end = map.out_step == map.channels;
  const int64_t count = end_to_end ? int64_t{map.pixels} * map.channels : map.channels;
  for (int p = 0; p < (end_to_end ? 1 : map.pixels); ++p) {
    float* const pixel = map.out + p * map.out_step;
    activate(function, pixel, pixel, count);
  }
}

bool AreRowsOfFewChannels(const ScaleShiftArgs& args) {
  const TensorView& output = args.output;
  if (output.rank != 4 || output.dims[1] > kFewChannels) return false;
  if (output.dims[1] != 1 && (output.strides[1] != 1 || args.input.strides[1] != 1)) return false;
  const bool input_fits =
      args.channel_order != nullptr || args.input.strides[3] == args.input.dims[1];
  return output.strides[3] == output.dims[1] && input_fits && args.activation.slopes == nullptr;
}

}  // namespace

void Compute(const ActivationArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const TensorView& out = args.output;
  const bool by_channel = args.activation.slopes != nullptr && !args.activation.one_slope;
  const auto slope_strides = ChannelStrides(!by_channel);
  const Runs<3> runs(pixels, out.rank, out.dims,
                     {out.strides.data(), args.input.strides.data(), slope_strides.data()});
  if (runs.inner_stride(0) != 1 || runs.inner_stride(1) != 1)
    return reference::Compute(args, pixels);

  if (by_channel && ArePixels(args.input, out)) {
    const PReluKernel prelu = ChooseFunctionKernels().prelu;
    return ForEachPixels(args.input, out, pixels, pool,
                         [&](const PixelMap& map) { prelu(args.activation.slopes, map); });
  }
  Function function = args.activation.function;
  if (by_channel && runs.inner_stride(2) == 1) {
    const PReluKernel prelu = ChooseFunctionKernels().prelu;
    runs.ForEach(pool, [&](const auto& at, int64_t count) {
      prelu(args.activation.slopes + at[2],
            {args.input.data + at[1], 0, out.data + at[0], 0, 1, static_cast<int>(count)});
    });
    return;
  }
  const FunctionKernel apply = ChooseFunctionKernels().function(function.kind);
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    Function run_function = function;
    if (args.activation.slopes != nullptr) run_function.alpha = args.activation.slopes[at[2]];
    apply(run_function, args.input.data + at[1], out.data + at[0], count);
  });
}

void Compute(const ScaleShiftArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  if (AreRowsOfFewChannels(args)) return ScaleShiftPixels(args, pixels, pool);
  const TensorView& out = args.output;
  if (ArePixels(args.input, out) && args.channel_order == nullptr) {
    const ScaleShiftPixelsKernel scale_shift = ChooseFunctionKernels().scale_shift_pixels;
    return ForEachPixels(args.input, out, pixels, pool, [&](const PixelMap& map) {
      scale_shift(args.scale, args.shift, map);
      ActivateInPlace(args.activation, map);
    });
  }
  const auto channel_strides = ChannelStrides(false);
  const Runs<3> runs(pixels, out.rank, out.dims,
                     {out.strides.data(), args.input.strides.data(), channel_strides.data()});
  const bool is_simple = args.channel_order == nullptr && args.activation.slopes == nullptr &&
                         runs.inner_stride(0) == 1 && runs.inner_stride(1) == 1 &&
                         runs.inner_stride(2) == 1;
  if (!is_simple) return reference::Compute(args, pixels);
  const ScaleShiftKernel scale_shift = ChooseFunctionKernels().scale_shift;
  const FunctionKernel activate = ChooseFunctionKernels().function(args.activation.function.kind);
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    float* to = out.data + at[0];
    scale_shift(args.scale + at[2], args.shift + at[2], args.input.data + at[1], to, count);
    if (!IsIdentity(args.activation.function)) activate(args.activation.function, to, to, count);
  });
}

void Compute(const BinaryArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const TensorView& out = args.output;
  const ConstTensorView a = BroadcastTo(args.a, out);
  const ConstTensorView b = BroadcastTo(args.b, out);
  const Runs<3> runs(pixels, out.rank, out.dims,
                     {out.strides.data(), a.strides.data(), b.strides.data()});
  const BinaryKernels kernels = ChooseFunctionKernels().binary(args.kind);
  BinaryKernel combine = nullptr;
  if (runs.inner_stride(1) == 1 && runs.inner_stride(2) == 1) combine = kernels.both;
  if (runs.inner_stride(1) == 0 && runs.inner_stride(2) == 1) combine = kernels.one_a;
  if (runs.inner_stride(1) == 1 && runs.inner_stride(2) == 0) combine = kernels.one_b;
  if (runs.inner_stride(0) != 1 || combine == nullptr) return reference::Compute(args, pixels);
  const FunctionKernel activate = ChooseFunctionKernels().function(args.activation.kind);
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    float* to = out.data + at[0];
    combine(a.data + at[1], b.data + at[2], to, count);
    if (!IsIdentity(args.activation)) activate(args.activation, to, to, count);
  });
}

}  // namespace cacheinf::cpu
