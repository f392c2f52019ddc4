#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/cpu/parts.h"

// What a convolution prepares before it runs: the phases of its output, and their weights.

namespace cacheinf::cpu {
namespace {

constexpr size_t kCachedBlockBytes = 896 * 1024;

// While all weights stay in the second-level cache, beside the pixels that pass through it, a list
// of pixels runs through all output channels before the next. Larger weights run block by block.
// Blocks are so narrow that their weights stay in the cache, beside those of the next block that
// are being fetched. The order changes no bit.
size_t CachedWeightBytes() {
  constexpr size_t kUsualCacheBytes = 1024 * 1024;
  static const int64_t reported_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);  // per core; or 0, or -1
  return (reported_bytes > 0 ? static_cast<size_t>(reported_bytes) : kUsualCacheBytes) / 2;
}

// Pixels with at most this many multiply-adds each are not put on lists if enough of them lie side
// by side.
constexpr size_t kLittleWork = 8192;

// With this many multiply-adds per tap, it pays to sort pixels by the taps that lie inside the
// picture.
constexpr size_t kMuchWorkOfTap = 1024;
constexpr size_t kMostTapsSorted = 64;

// With this few input channels the taps of a row are taken together, if their pixels lie end to
// end.
constexpr int kFewChannels = 8;

// The tap that kernel index k is for output index `phase` on one axis, as an offset from the input
// index of phase + 0 steps; false if there is none.
bool FindTap(const WindowAxis& axis, bool transposed, int phase, int k, int* tap) {
  if (!transposed) {
    *tap = k * axis.dilation - axis.pad_begin;
    return true;
  }
  const int distance = phase + axis.pad_begin - k * axis.dilation;
  if (distance % axis.stride != 0) return false;
  *tap = distance / axis.stride;
  return true;
}

float WeightOf(const ConvArgs& args, int output, int input_of_group, int kernel_tap) {
  const int inputs = args.input.channels / args.spec.groups;
  const int outputs = args.output.channels / args.spec.groups;
  const int64_t kernel_size =
      static_cast<int64_t>(args.spec.rows.kernel) * args.spec.columns.kernel;
  const int64_t row =
      args.spec.transposed
          ? (output / outputs * inputs + input_of_group) * int64_t{outputs} + output % outputs
          : int64_t{output} * inputs + input_of_group;
  return args.weights[row * kernel_size + kernel_tap];
}

}  // namespace

Conv::Conv(const ConvArgs& args)
    : kernels_(args.output.channels == args.spec.groups
                   ? ChoosePixelKernels()
                   : ChoosePixelKernelsFor(args.output.channels / args.spec.groups)),
      groups_(args.spec.groups),
      in_channels_(args.input.channels),
      out_channels_(args.output.channels),
      is_depthwise_(groups_ == in_channels_ && groups_ == out_channels_),
      row_dilation_(args.spec.rows.dilation),
      column_dilation_(args.spec.columns.dilation),
      zeros_(static_cast<size_t>(in_channels_)),
      epilogue_{args.activation.function,
                ChooseFunctionKernels().function(args.activation.function.kind),
                args.activation.slopes == nullptr ? nullptr : ChooseFunctionKernels().prelu,
                args.activation_before_residual} {
  if (args.spec.transposed) {
    step_rows_ = args.spec.rows.stride;
    step_columns_ = args.spec.columns.stride;
  } else {
    in_step_rows_ = args.spec.rows.stride;
    in_step_columns_ = args.spec.columns.stride;
  }
  for (int row = 0; row < step_rows_; ++row) {
    for (int column = 0; column < step_columns_; ++column) AddPhase(args, row, column);
  }
}

void Conv::AddPhase(const ConvArgs& args, int row_phase, int column_phase) {
  const ConvSpec& spec = args.spec;
  Phase phase;
  phase.first_row = row_phase;
  phase.first_column = column_phase;
  phase.tap_columns = spec.columns.kernel;
  std::vector<int> kernel_taps;
  for (int ky = 0; ky < spec.rows.kernel; ++ky) {
    for (int kx = 0; kx < spec.columns.kernel; ++kx) {
      Tap tap;
      if (!FindTap(spec.rows, spec.transposed, row_phase, ky, &tap.row)) continue;
      if (!FindTap(spec.columns, spec.transposed, column_phase, kx, &tap.column)) continue;
      if (phase.taps.empty()) phase.smallest = phase.largest = tap;
      phase.smallest = {std::min(phase.smallest.row, tap.row),
                        std::min(phase.smallest.column, tap.column)};
      phase.largest = {std::max(phase.largest.row, tap.row),
                       std::max(phase.largest.column, tap.column)};
      phase.taps.push_back(tap);
      kernel_taps.push_back(ky * spec.columns.kernel + kx);
    }
  }
  if (is_depthwise_) {
    PackDepthwise(args, kernel_taps, phase);
  } else {
    PackBlocks(args, kernel_taps, phase);
  }
  phase.takes_rows =
      !spec.transposed &&
      (is_depthwise_ || phase.taps.size() * static_cast<size_t>(in_channels_ / spec.groups) *
                                static_cast<size_t>(out_channels_) <=
                            kLittleWork);
  phase.rows_take_borders = phase.takes_rows && is_depthwise_ &&
                            kernels_.takes_borders(phase.depthwise, phase.tap_columns,
                                                   in_step_columns_, column_dilation_);
  ChooseTapsToSkip(args, phase);
  if (CanTakeRowsOfTaps(spec)) {
    // The taps of a row, end to end, are one tap with more channels.
    phase.row_blocks = phase.blocks;
    for (ConvBlock& block : phase.row_blocks) block.inputs *= phase.tap_columns;
    zeros_.resize(static_cast<size_t>(phase.tap_columns) * in_channels_);
  }
  phases_.push_back(std::move(phase));
}

// Outside the picture x is +0. There a finite weight can at most turn a sum from -0 to +0, and
// adding a bias other than -0 hides that.
void Conv::ChooseTapsToSkip(const ConvArgs& args, Phase& phase) const {
  const ConvSpec& spec = args.spec;
  if (is_depthwise_ || args.bias == nullptr) return;
  const size_t weights_of_tap = static_cast<size_t>(out_channels_) * (in_channels_ / spec.groups);
  const size_t weights = weights_of_tap * spec.rows.kernel * spec.columns.kernel;
  phase.skips_taps = std::all_of(args.weights, args.weights + weights,
                                 [](float weight) { return std::isfinite(weight); }) &&
                     std::none_of(args.bias, args.bias + out_channels_,
                                  [](float bias) { return bias == 0.0f && std::signbit(bias); });
  const bool is_dilated = row_dilation_ > 1 || column_dilation_ > 1;
  phase.groups_by_taps = phase.skips_taps && is_dilated && phase.taps.size() <= kMostTapsSorted &&
                         weights_of_tap >= kMuchWorkOfTap;
}

bool Conv::CanTakeRowsOfTaps(const ConvSpec& spec) const {
  return !spec.transposed && groups_ == 1 && spec.columns.dilation == 1 &&
         spec.columns.kernel > 1 && in_channels_ <= kFewChannels;
}

void Conv::PackBlocks(const ConvArgs& args, const std::vector<int>& kernel_taps, Phase& phase) {
  const int inputs = in_channels_ / groups_;
  const int outputs = out_channels_ / groups_;
  const int vectors = DivideUp(outputs, kernels_.lanes);
  // Over all phases together, so that they have the same blocks.
  const size_t vector_bytes = static_cast<size_t>(kernels_.lanes) * inputs * args.spec.rows.kernel *
                              args.spec.columns.kernel * sizeof(float);
  const int cached_vectors =
      static_cast<int>(std::max(kCachedBlockBytes / vector_bytes, size_t{1}));
  const int blocks = DivideUp(vectors, std::min(kernels_.max_vectors, cached_vectors));
  const size_t padded_outputs = static_cast<size_t>(groups_) * vectors * kernels_.lanes;
  const bool is_first = bias_.empty() && slopes_.empty();
  phase.weights = AlignedFloats(padded_outputs * inputs * kernel_taps.size());
  if (is_first && args.bias != nullptr) bias_ = AlignedFloats(padded_outputs);
  if (is_first && args.activation.slopes != nullptr) {
    slopes_ = AlignedFloats(padded_outputs);
  }

  phase.weights_stay_cached =
      padded_outputs * inputs * kernel_taps.size() * sizeof(float) <= CachedWeightBytes();

  float* weights = phase.weights.data();
  size_t padded = 0;
  for (int group = 0; group < groups_; ++group) {
    for (int b = 0; b < blocks; ++b) {
      const Range part = Part(vectors, 1, b, blocks);
      const int width = part.size() * kernels_.lanes;
      ConvBlock block;
      block.weights = weights;
      block.vectors = part.size();
      block.first_input = group * inputs;
      block.inputs = inputs;
      block.first_output = group * outputs + part.begin * kernels_.lanes;
      block.outputs = std::min(width, outputs - part.begin * kernels_.lanes);
      block.epilogue = epilogue_;
      for (const int kernel_tap : kernel_taps) {
        for (int input = 0; input < inputs; ++input) {
          for (int i = 0; i < width; ++i) {
            *weights++ = i < block.outputs
                             ? WeightOf(args, block.first_output + i, input, kernel_tap)
                             : 0.0f;
          }
        }
      }
      for (int i = 0; i < width; ++i) {
        const int output = block.first_output + std::min(i, block.outputs - 1);
        if (!bias_.empty()) bias_.data()[padded + i] = args.bias[output];
        if (!slopes_.empty()) {
          slopes_.data()[padded + i] =
              args.activation.slopes[args.activation.one_slope ? 0 : output];
        }
      }
      block.bias = bias_.empty() ? nullptr : bias_.data() + padded;
      block.slopes = slopes_.empty() ? nullptr : slopes_.data() + padded;
      padded += static_cast<size_t>(width);
      phase.blocks.push_back(block);
    }
  }
}

void Conv::PackDepthwise(const ConvArgs& args, const std::vector<int>& kernel_taps, Phase& phase) {
  const int channels = out_channels_;
  const int padded = DivideUp(channels, kernels_.lanes) * kernels_.lanes;
  const auto fill = [&](float* to, auto value) {
    for (int i = 0; i < padded; ++i) to[i] = i < channels ? value(i) : 0.0f;
  };
  phase.weights = AlignedFloats(static_cast<size_t>(padded) * kernel_taps.size());
  for (size_t t = 0; t < kernel_taps.size(); ++t) {
    fill(phase.weights.data() + t * static_cast<size_t>(padded),
         [&](int channel) { return WeightOf(args, channel, 0, kernel_taps[t]); });
  }
  if (args.bias != nullptr && bias_.empty()) {
    bias_ = AlignedFloats(static_cast<size_t>(padded));
    fill(bias_.data(), [&](int channel) { return args.bias[channel]; });
  }
  if (args.activation.slopes != nullptr && slopes_.empty()) {
    slopes_ = AlignedFloats(static_cast<size_t>(padded));
    fill(slopes_.data(), [&](int channel) {
      return args.activation.slopes[args.activation.one_slope ? 0 : channel];
    });
  }
  phase.depthwise = {
      phase.weights.data(), bias_.data(), slopes_.data(), channels, padded, epilogue_};
}

}  // namespace cacheinf::cpu
