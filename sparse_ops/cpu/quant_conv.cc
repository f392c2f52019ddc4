#include "sparse_ops/cpu/quant_conv.h"

#include <algorithm>
#include <cstring>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/parts.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/reference/quant_sums.h"

namespace cacheinf::cpu {
namespace {

constexpr int kPixels = QuantKernels::kPixels;
constexpr int kPatch = 512;  // numbers of a patch at a time
constexpr int kSums = 256;   // output channels at a time

}  // namespace

// Neighbouring output pixels of one row.
struct QuantConv::Tile {
  int image = 0;
  int row = 0;
  int column = 0;
  int count = 0;  // at most kPixels
};

QuantConv::QuantConv(const QuantConvArgs& args)
    : kernels_(ChooseQuantKernels()),
      group_inputs_(args.in_channels / args.spec.groups),
      group_outputs_(args.out_channels / args.spec.groups),
      pairs_of_tap_(DivideUp(group_inputs_, 2)),
      blocks_(DivideUp(group_outputs_, kernels_.lanes)),
      taps_(args.spec.rows.kernel * args.spec.columns.kernel) {
  const int lanes = kernels_.lanes;
  const auto padded = static_cast<size_t>(args.spec.groups) * blocks_ * lanes;
  bias_.assign(padded, 0);
  multipliers_.assign(padded, 0.0f);
  weights_.assign(padded * taps_ * pairs_of_tap_ * 2, 0);
  const int words = WordCount(group_inputs_);
  for (int channel = 0; channel < args.out_channels; ++channel) {
    const int group = channel / group_outputs_;
    const int within = channel % group_outputs_;
    const auto place = static_cast<size_t>(group * blocks_ * lanes + within);
    if (args.bias != nullptr) bias_[place] = args.bias[channel];
    multipliers_[place] = args.scales[channel] / args.steps.scale;
    const int zero = args.weight_zeros == nullptr ? 0 : args.weight_zeros[channel];
    const int64_t block = int64_t{group} * blocks_ + within / lanes;
    for (int tap = 0; tap < taps_; ++tap) {
      for (int i = 0; i < group_inputs_; ++i) {
        const float* const word =
            args.weights + (int64_t{channel} * words + i / kBytesOfWord) * taps_ + tap;
        const int64_t pair = (block * taps_ + tap) * pairs_of_tap_ + i / 2;
        weights_[static_cast<size_t>((pair * lanes + within % lanes) * 2 + i % 2)] =
            static_cast<int16_t>(ByteOf(word, i % kBytesOfWord, /*is_signed=*/true) - zero);
      }
    }
  }
}

void QuantConv::Run(const QuantConvArgs& args, const ActivePixels& pixels, ThreadPool& pool) const {
  const int64_t work = int64_t{taps_} * group_inputs_ * args.out_channels;
  ActiveRuns(pixels, args.output.batch, args.output.width)
      .ForEach(pool, work, [&](int image, const PixelRun& run) {
        for (int x = run.begin; x < run.end; x += kPixels) {
          RunTile(args, {image, run.row, x, std::min(kPixels, run.end - x)});
        }
      });
}

void QuantConv::RunTile(const QuantConvArgs& args, const Tile& tile) const {
  const int lanes = kernels_.lanes;
  const int blocks_together = kSums / lanes;
  int32_t sums[kPixels * kSums];
  int32_t numbers[kSums];
  for (int group = 0; group < args.spec.groups; ++group) {
    for (int first = 0; first < blocks_; first += blocks_together) {
      const int blocks = std::min(blocks_together, blocks_ - first);
      SumChannels(args, tile, group, first, blocks, sums);
      const int begin = group * group_outputs_ + first * lanes;
      const int count = std::min(blocks * lanes, group_outputs_ - first * lanes);
      const size_t place = (static_cast<size_t>(group) * blocks_ + first) * lanes;
      for (int p = 0; p < tile.count; ++p) {
        float* const pixel = args.output.Pixel(tile.image, tile.row, tile.column + p);
        const int32_t* const own = sums + p * kSums;
        if (!args.rounds_sums) {
          reference::StoreSums(args, tile.image, tile.row, tile.column + p, {begin, begin + count},
                               own);
          continue;
        }
        kernels_.round(own, multipliers_.data() + place, blocks * lanes, args.steps.zero_point,
                       args.low, args.high, numbers);
        for (int i = 0; i < count; ++i) SetByte(pixel, begin + i, numbers[i]);
      }
    }
  }
  if (args.gives_floats) return;
  for (int p = 0; p < tile.count; ++p) {
    FillSpare(args.output.Pixel(tile.image, tile.row, tile.column + p), args.out_channels,
              args.steps.zero_point);
  }
}

// Gathers what the pixels' taps read, a patch at a time, and adds its products.
void QuantConv::SumChannels(const QuantConvArgs& args, const Tile& tile, int group, int first,
                            int blocks, int32_t* sums) const {
  const int lanes = kernels_.lanes;
  const size_t place = (static_cast<size_t>(group) * blocks_ + first) * lanes;
  for (int p = 0; p < kPixels; ++p) {
    std::copy_n(bias_.data() + place, blocks * lanes, sums + p * kSums);
  }
  const int64_t block_stride = int64_t{taps_} * pairs_of_tap_ * lanes * 2;
  const int16_t* const weights =
      weights_.data() + (int64_t{group} * blocks_ + first) * block_stride;
  int16_t patches[kPixels * kPatch] = {};
  int filled = 0;  // numbers of each patch
  int done = 0;    // pairs
  const auto flush = [&] {
    kernels_.add(patches, kPatch, filled / 2, weights + int64_t{done} * lanes * 2, block_stride,
                 blocks, sums, kSums);
    done += filled / 2;
    filled = 0;
  };
  const bool is_signed = args.input_steps.is_signed;
  const int zero = args.input_steps.zero_point;
  const ConvSpec& spec = args.spec;
  for (int tap = 0; tap < taps_; ++tap) {
    const int64_t y = int64_t{tile.row} * spec.rows.stride - spec.rows.pad_begin +
                      int64_t{tap / spec.columns.kernel} * spec.rows.dilation;
    const int64_t column_of_tap =
        int64_t{tap % spec.columns.kernel} * spec.columns.dilation - spec.columns.pad_begin;
    for (int i = 0; i < group_inputs_;) {
      if (filled == kPatch) flush();
      const int count = std::min(group_inputs_ - i, kPatch - filled);
      for (int p = 0; p < tile.count; ++p) {
        int16_t* const to = patches + p * kPatch + filled;
        const int64_t x = int64_t{tile.column + p} * spec.columns.stride + column_of_tap;
        to[count - 1 + count % 2] = 0;
        if (y < 0 || y >= args.input.height || x < 0 || x >= args.input.width) {
          std::fill_n(to, count, int16_t{0});
          continue;
        }
        const float* const pixel =
            args.input.Pixel(tile.image, static_cast<int>(y), static_cast<int>(x));
        const auto* const bytes =
            reinterpret_cast<const unsigned char*>(pixel) + group * group_inputs_ + i;
        // The top bit of a signed byte counts -128.
        const int flip = is_signed ? 0x80 : 0;
        const int less = zero + flip;
        for (int c = 0; c < count; ++c) {
          to[c] = static_cast<int16_t>((bytes[c] ^ flip) - less);
        }
      }
      i += count;
      filled += count + count % 2;
    }
  }
  flush();
}

}  // namespace cacheinf::cpu
