#include "sparse_ops/cpu/pixel_kernels.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/pixel_kernels.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/pixel_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

// Tiles: this many pixels by so many vectors of output channels are summed in registers. Tiles of
// rows also need a register per pixel for its pointer; sliding tiles need one per weight of a row
// of taps. Tiles of one vector whose pixels need no pointers (kStepTilePixels) take as many pixels
// as there are registers, because each step reads a weight. All targets' constants stand only here.
#if HWY_TARGET == HWY_AVX2
// 16 registers.
constexpr int kMaxVectors = 2;
constexpr int TilePixels(int vectors) { return vectors == 1 ? 8 : 6; }
constexpr int DepthwiseTilePixels(int vectors) { return vectors == 1 ? 12 : 6; }
constexpr int kRowPixels = 6;
constexpr int kRowVectors = 2;
constexpr int kSlidingPixels = 8;
constexpr int kStepTilePixels = 12;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kMaxVectors = 4;
constexpr int TilePixels(int) { return 2; }
constexpr int DepthwiseTilePixels(int) { return 2; }
constexpr int kRowPixels = 2;
constexpr int kRowVectors = 2;
constexpr int kSlidingPixels = 2;
constexpr int kStepTilePixels = 2;
#else
// AVX-512 and NEON: 32 registers.
constexpr int kMaxVectors = 4;
constexpr int TilePixels(int vectors) { return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6; }
constexpr int DepthwiseTilePixels(int vectors) { return vectors <= 2 ? 12 : 6; }
constexpr int kRowPixels = 8;
constexpr int kRowVectors = 3;
constexpr int kSlidingPixels = 12;
constexpr int kStepTilePixels = 24;
#endif
constexpr int kAnyStep = -1;

// Input channels from one look ahead to the next.
constexpr int kStepChannels = 16;

// Outputs of a row are fetched this many pixels ahead: some tiles, of a few hundred cycles each,
// which is as long as memory takes.
constexpr int kOutputPixelsAhead = kListPixels;

// Prefetches for a tile, a few lines at each step over some channels.
class AheadOfTile {
 public:
  // Takes the share of pixels [first, last) of `count`, in `steps` steps; with no steps, nothing.
  AheadOfTile(const FetchAhead& ahead, int first, int last, int count, int steps) {
    const int64_t all = (ahead.end - ahead.begin) / kLineFloats;
    next_ = ahead.begin + all * first / count * kLineFloats;
    end_ = ahead.begin + all * last / count * kLineFloats;
    lines_ = steps == 0 ? 0 : static_cast<int>(((end_ - next_) / kLineFloats + steps - 1) / steps);
  }

  HWY_INLINE void Fetch() {
    for (int line = 0; line < lines_ && next_ < end_; ++line) {
      __builtin_prefetch(next_, 0, 2);  // to the second-level cache
      next_ += kLineFloats;
    }
  }

 private:
  static constexpr int kLineFloats = 16;  // the size of a cache line

  const float* next_;
  const float* end_;
  int lines_;
};

// The numbers under a tap of each pixel of a tile, if pixels lie anywhere.
template <int kPixels>
struct PixelsApart {
  const float* addresses[kPixels];

  HWY_INLINE float Number(int p, int channel) const { return addresses[p][channel]; }
};

// The same for pixels at a distance known at compile time. One register holds the address of all of
// them, so a tile can have more pixels than there are registers for addresses.
template <int kStep>
struct PixelsInStep {
  const float* first;

  HWY_INLINE float Number(int p, int channel) const { return first[p * kStep + channel]; }
};

// Adds one channel of all pixels to their sums.
template <class Numbers, int kPixels, int kVectors>
HWY_INLINE void AddChannel(const Numbers& numbers, int channel, const float* HWY_RESTRICT weights,
                           Tile<kPixels, kVectors>& tile) {
  Floats weight[kVectors];
  CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
    weight[v] = hn::Load(FloatTag(), weights + v * kLanes);
  }
  CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
    const Floats x = hn::Set(FloatTag(), numbers.Number(p, channel));
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      tile.sums[p][v] = Fma(x, weight[v], tile.sums[p][v]);
    }
  }
}

// Adds one tap of all pixels to their sums; returns the weights of the next.
template <int kPixels, int kVectors>
HWY_INLINE const float* AddTap(const PixelsApart<kPixels>& pixels, int inputs,
                               const float* HWY_RESTRICT weights, AheadOfTile& ahead,
                               Tile<kPixels, kVectors>& tile) {
  for (int c = 0; c < inputs;) {
    ahead.Fetch();
    for (const int end = HWY_MIN(c + kStepChannels, inputs); c < end; ++c) {
      AddChannel(pixels, c, weights, tile);
      weights += kVectors * kLanes;
    }
  }
  return weights;
}

// Computes pixels [first_pixel, first_pixel + pixels) of the list; pixels <= kPixels.
template <int kPixels, int kVectors>
HWY_NOINLINE void ConvTile(const ConvBlock& block, const PixelList& list, int first_pixel,
                           int pixels) {
  for (int p = 0; p < pixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      hwy::Prefetch(list.outputs[first_pixel + p] + block.first_output + v * kLanes);
    }
  }
  Tile<kPixels, kVectors> tile;
  tile.Clear();
  const int steps = list.taps * ((block.inputs + kStepChannels - 1) / kStepChannels);
  AheadOfTile ahead(list.ahead, first_pixel, first_pixel + pixels, list.count, steps);
  const float* weights = block.weights;
  const int64_t tap_weights = int64_t{block.inputs} * (kVectors * kLanes);
  for (int t = 0; t < list.taps; ++t) {
    if (list.weight_taps != nullptr) weights = block.weights + list.weight_taps[t] * tap_weights;
    const float* const* tap = list.inputs + t * kListPixels + first_pixel;
    PixelsApart<kPixels> input;
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      input.addresses[p] = tap[p] + block.first_input;
    }
    weights = AddTap(input, block.inputs, weights, ahead, tile);
  }
  tile.Finish(block.bias, block.slopes, block.epilogue, {list, first_pixel, pixels},
              block.first_output, block.outputs);
}

// Runs full tiles, then the smallest tile that holds the rest.
template <int kVectors>
void ConvTiles(const ConvBlock& block, const PixelList& list) {
  constexpr int kFull = TilePixels(kVectors);
  constexpr int kHalf = (kFull + 1) / 2;
  int pixel = 0;
  for (; list.count - pixel > kHalf; pixel += kFull) {
    ConvTile<kFull, kVectors>(block, list, pixel, HWY_MIN(kFull, list.count - pixel));
  }
  if (list.count - pixel > 1) {
    ConvTile<kHalf, kVectors>(block, list, pixel, list.count - pixel);
  } else if (list.count - pixel == 1) {
    ConvTile<1, kVectors>(block, list, pixel, 1);
  }
}

void ConvPixels(const ConvBlock& block, const PixelList& list) {
  switch (block.vectors) {
    case 1:
      return ConvTiles<1>(block, list);
    case 2:
      return ConvTiles<2>(block, list);
    case 3:
      return ConvTiles<HWY_MIN(3, kMaxVectors)>(block, list);
    default:
      return ConvTiles<kMaxVectors>(block, list);
  }
}

template <int kPixels, int kVectors>
HWY_INLINE void FinishDepthwise(const DepthwiseBlock& block, const PixelsOfTile& pixels,
                                int first_channel, int channels, Tile<kPixels, kVectors>& tile) {
  tile.Finish(block.bias == nullptr ? nullptr : block.bias + first_channel,
              block.slopes == nullptr ? nullptr : block.slopes + first_channel, block.epilogue,
              pixels, first_channel, channels);
}

// Computes kVectors vectors of channels from first_channel on, of which `channels` exist.
template <int kPixels, int kVectors>
HWY_NOINLINE void DepthwiseTile(const DepthwiseBlock& block, const PixelList& list, int first_pixel,
                                int pixels, int first_channel, int channels) {
  Tile<kPixels, kVectors> tile;
  tile.Clear();
  const float* HWY_RESTRICT weights = block.weights + first_channel;
  const int last = channels - (kVectors - 1) * kLanes;
  for (int t = 0; t < list.taps; ++t) {
    const float* const* tap = list.inputs + t * kListPixels + first_pixel;
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      const float* input = tap[p] + first_channel;
      CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
        const Floats x = v < kVectors - 1 ? hn::LoadU(FloatTag(), input + v * kLanes)
                                          : LoadFirst(input + v * kLanes, last);
        tile.sums[p][v] = Fma(x, hn::Load(FloatTag(), weights + v * kLanes), tile.sums[p][v]);
      }
    }
    weights += block.padded_channels;
  }
  FinishDepthwise(block, {list, first_pixel, pixels}, first_channel, channels, tile);
}

// Where the taps of some pixels of a row lie, in one row of taps.
struct TapRow {
  const float* first;  // under the first tap of the first pixel
  int64_t pixel_step;
  int64_t column_step;
  bool is_inside;

  TapRow(const PixelRow& row, int y, int first_pixel, int first_channel) {
    is_inside = y >= row.rows_inside.begin && y < row.rows_inside.end;
    pixel_step = is_inside ? row.pixel_step : 0;
    column_step = is_inside ? row.column_step : 0;
    first = is_inside ? row.first + (y - row.rows_inside.begin) * row.row_step : row.zeros;
    first += first_pixel * pixel_step + first_channel;
  }
};

// Adds what lies under a tap, or a row of taps, to the sums; returns the next weights.
template <class Numbers, int kPixels, int kVectors>
HWY_INLINE const float* AddNumbers(const Numbers& numbers, int inputs,
                                   const float* HWY_RESTRICT weights,
                                   Tile<kPixels, kVectors>& tile) {
  // Pictures have three channels.
  _Pragma("GCC unroll 3") for (int c = 0; c < inputs; ++c) {
    AddChannel(numbers, c, weights, tile);
    weights += kVectors * kLanes;
  }
  return weights;
}

// Fetches the outputs of a later tile, some with each row of taps. Memory must be read before it is
// written, and a layer of few taps finishes a tile before that is done.
template <int kPixels, int kVectors>
class OutputsAhead {
 public:
  HWY_INLINE OutputsAhead(const PixelRow& row, int first_pixel, int first_channel)
      : next_(first_pixel + kOutputPixelsAhead),
        end_(HWY_MIN(next_ + kPixels, row.count)),
        pixels_of_tap_row_((kPixels + row.tap_rows - 1) / row.tap_rows),
        output_(row.output + first_channel),
        output_step_(row.output_step) {}

  HWY_INLINE void Fetch() {
    for (const int end = HWY_MIN(next_ + pixels_of_tap_row_, end_); next_ < end; ++next_) {
      CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
        __builtin_prefetch(output_ + next_ * output_step_ + v * kLanes, 0, 2);
      }
    }
  }

 private:
  int next_;  // pixel of the row
  int end_;
  int pixels_of_tap_row_;
  const float* output_;
  int64_t output_step_;
};

// kStep is the row's pixel_step, or kAnyStep.
template <int kPixels, int kVectors, int kStep>
HWY_NOINLINE void ConvRowTile(const ConvBlock& block, const PixelRow& row, int first_pixel) {
  Tile<kPixels, kVectors> tile;
  tile.Clear();
  OutputsAhead<kPixels, kVectors> ahead(row, first_pixel, block.first_output);
  const float* weights = block.weights;
  for (int y = 0; y < row.tap_rows; ++y) {
    ahead.Fetch();
    const TapRow taps(row, y, first_pixel, block.first_input);
    for (int x = 0; x < row.tap_columns; ++x) {
      const float* const first = taps.first + x * taps.column_step;
      if constexpr (kStep == kAnyStep) {
        PixelsApart<kPixels> pixels;
        CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
          pixels.addresses[p] = first + p * taps.pixel_step;
        }
        weights = AddNumbers(pixels, block.inputs, weights, tile);
      } else if (taps.is_inside) {
        weights = AddNumbers(PixelsInStep<kStep>{first}, block.inputs, weights, tile);
      } else {
        weights = AddNumbers(PixelsInStep<0>{first}, block.inputs, weights, tile);
      }
    }
  }
  tile.Finish(block.bias, block.slopes, block.epilogue, {row, first_pixel, kPixels},
              block.first_output, block.outputs);
}

// Runs tiles of kFull pixels, and the rest by halves.
template <int kFull, int kVectors, int kStep = kAnyStep>
void ConvRowTiles(const ConvBlock& block, const PixelRow& row) {
  constexpr int kHalf = kFull / 2;
  static_assert(kRowGrain % kHalf == 0 && kFull % kHalf == 0);
  int pixel = 0;
  for (; pixel + kFull <= row.count; pixel += kFull) {
    ConvRowTile<kFull, kVectors, kStep>(block, row, pixel);
  }
  for (; pixel < row.count; pixel += kHalf) {
    ConvRowTile<kHalf, kVectors, kStep>(block, row, pixel);
  }
}

// For pictures of three channels and maps of few, at stride 1 and 2.
void ConvRowOfOneVector(const ConvBlock& block, const PixelRow& row) {
  switch (row.pixel_step) {
    case 3:
      return ConvRowTiles<kStepTilePixels, 1, 3>(block, row);
    case 6:
      return ConvRowTiles<kStepTilePixels, 1, 6>(block, row);
    case 16:
      return ConvRowTiles<kStepTilePixels, 1, 16>(block, row);
    case 32:
      return ConvRowTiles<kStepTilePixels, 1, 32>(block, row);
    default:
      return ConvRowTiles<TilePixels(1), 1>(block, row);
  }
}

void ConvRow(const ConvBlock& block, const PixelRow& row) {
  switch (block.vectors) {
    case 1:
      return ConvRowOfOneVector(block, row);
    case 2:
      return ConvRowTiles<TilePixels(2), 2>(block, row);
    case 3:
      return ConvRowTiles<TilePixels(3), HWY_MIN(3, kMaxVectors)>(block, row);
    default:
      return ConvRowTiles<TilePixels(kMaxVectors), kMaxVectors>(block, row);
  }
}

// Some pixels of a row by some vectors of channels, of which `channels` exist: all, or only a part
// of the last vector.
struct RowTile {
  const PixelRow* row;
  int first_pixel;
  int pixels;
  int first_channel;
  int channels;
};

// Any kernel.
template <int kPixels, int kVectors, bool kWhole>
HWY_NOINLINE void DepthwiseRowTile(const DepthwiseBlock& block, const RowTile& at) {
  const PixelRow& row = *at.row;
  const int last = at.channels - (kVectors - 1) * kLanes;  // channels of the last vector
  Tile<kPixels, kVectors> tile;
  tile.Clear();
  const float* HWY_RESTRICT weights = block.weights + at.first_channel;
  for (int y = 0; y < row.tap_rows; ++y) {
    const TapRow taps(row, y, at.first_pixel, at.first_channel);
    const float* input[kPixels];
    const float* next = taps.first;
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      input[p] = next;
      if (p + 1 < at.pixels) next += taps.pixel_step;
    }
    for (int x = 0; x < row.tap_columns; ++x) {
      CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
        const Floats weight = hn::Load(FloatTag(), weights + v * kLanes);
        CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
          const float* const from = input[p] + x * taps.column_step + v * kLanes;
          const Floats number = kWhole || v < kVectors - 1 ? hn::LoadU(FloatTag(), from)
                                                           : MaskedLoadFirst(from, last);
          tile.sums[p][v] = Fma(number, weight, tile.sums[p][v]);
        }
      }
      weights += block.padded_channels;
    }
  }
  FinishDepthwise(block, {row, at.first_pixel, at.pixels}, at.first_channel, at.channels, tile);
}

// The smallest tile with an even number of pixels that holds them; for short runs a larger one
// would be half empty.
template <int kPixels, int kVectors>
void SmallestDepthwiseRowTile(const DepthwiseBlock& block, const RowTile& at) {
  if constexpr (kPixels > 2) {
    if (at.pixels <= kPixels - 2) {
      return SmallestDepthwiseRowTile<kPixels - 2, kVectors>(block, at);
    }
  }
  const bool is_whole = at.channels == kVectors * kLanes;
  is_whole ? DepthwiseRowTile<kPixels, kVectors, true>(block, at)
           : DepthwiseRowTile<kPixels, kVectors, false>(block, at);
}

void DepthwiseRowOfAnyKernel(const DepthwiseBlock& block, const PixelRow& row) {
  const int vectors = block.padded_channels / kLanes;
  const int parts = (vectors + kRowVectors - 1) / kRowVectors;
  for (int part = 0; part < parts; ++part) {
    const int vector = vectors * part / parts;
    const int end = vectors * (part + 1) / parts;
    const int channel = vector * kLanes;
    const int channels = HWY_MIN(end * kLanes, block.channels) - channel;
    for (int pixel = 0; pixel < row.count; pixel += kRowPixels) {
      const RowTile at = {&row, pixel, HWY_MIN(kRowPixels, row.count - pixel), channel, channels};
      switch (end - vector) {
        case 1:
          SmallestDepthwiseRowTile<kRowPixels, 1>(block, at);
          break;
        case 2:
          SmallestDepthwiseRowTile<kRowPixels, 2>(block, at);
          break;
        default:
          SmallestDepthwiseRowTile<kRowPixels, kRowVectors>(block, at);
      }
    }
  }
}

// One vector of channels; reads every input number once for all pixels that use it. Plain tiles
// have all channels of the vector, and no tap beyond the input's columns.
template <int kPixels, int kKernel, int kStride, bool kPlain>
HWY_NOINLINE void SlidingTile(const DepthwiseBlock& block, const RowTile& at) {
  constexpr int kColumns = (kPixels - 1) * kStride + kKernel;
  const PixelRow& row = *at.row;
  const int first_column = at.first_pixel * kStride - row.columns_inside.begin;
  const int last_column = (at.pixels - 1) * kStride + kKernel - 1;
  const int columns_inside = row.columns_inside.size();
  for (int p = 0; p < at.pixels; ++p) {
    hwy::Prefetch(row.output + (at.first_pixel + p) * row.output_step + at.first_channel);
  }
  Tile<kPixels, 1> tile;
  tile.Clear();
  const float* HWY_RESTRICT weights = block.weights + at.first_channel;
  for (int y = 0; y < row.tap_rows; ++y) {
    const TapRow taps(row, y, 0, at.first_channel);
    const float* const first = taps.first + first_column * taps.column_step;
    Floats weight[kKernel];
    CACHEINF_UNROLL for (int x = 0; x < kKernel; ++x) {
      weight[x] = hn::Load(FloatTag(), weights);
      weights += block.padded_channels;
    }
    CACHEINF_UNROLL for (int i = 0; i < kColumns; ++i) {
      const int column = HWY_MIN(i, last_column);
      Floats number;
      if constexpr (kPlain) {
        number = hn::LoadU(FloatTag(), first + column * taps.column_step);
      } else {
        const int inside = first_column + column;
        const bool is_inside = inside >= 0 && inside < columns_inside;
        number = is_inside ? MaskedLoadFirst(taps.first + inside * taps.column_step, at.channels)
                           : hn::Zero(FloatTag());
      }
      CACHEINF_UNROLL for (int x = 0; x < kKernel; ++x) {
        if (i < x || (i - x) % kStride != 0 || (i - x) / kStride >= kPixels) continue;
        Floats& sum = tile.sums[(i - x) / kStride][0];
        sum = Fma(number, weight[x], sum);
      }
    }
  }
  FinishDepthwise(block, {row, at.first_pixel, at.pixels}, at.first_channel, at.channels, tile);
}

template <int kPixels, int kKernel, int kStride>
void SlidingTile(const DepthwiseBlock& block, RowTile at) {
  at.pixels = HWY_MIN(at.pixels, kPixels);
  const Range inside = at.row->columns_inside;
  const int first_column = at.first_pixel * kStride;
  const int end_column = first_column + (at.pixels - 1) * kStride + kKernel;
  const bool is_plain =
      at.channels == kLanes && first_column >= inside.begin && end_column <= inside.end;
  is_plain ? SlidingTile<kPixels, kKernel, kStride, true>(block, at)
           : SlidingTile<kPixels, kKernel, kStride, false>(block, at);
}

template <int kKernel, int kStride>
void SlidingRow(const DepthwiseBlock& block, const PixelRow& row) {
  constexpr int kFull = kStride == 1 ? kSlidingPixels : HWY_MIN(8, kSlidingPixels);
  constexpr int kHalf = kFull / 2;
  constexpr int kQuarter = HWY_MAX(kHalf / 2, 1);
  constexpr int kTilesTogether = 4;  // for which one vector's weights are read
  for (int part = 0; part < row.count; part += kTilesTogether * kFull) {
    const int end = HWY_MIN(row.count, part + kTilesTogether * kFull);
    for (int channel = 0; channel < block.channels; channel += kLanes) {
      const int channels = HWY_MIN(kLanes, block.channels - channel);
      for (int pixel = part; pixel < end;) {
        const RowTile rest = {&row, pixel, end - pixel, channel, channels};
        if (rest.pixels > kHalf) {
          SlidingTile<kFull, kKernel, kStride>(block, rest);
          pixel += kFull;
        } else if (rest.pixels > kQuarter) {
          SlidingTile<kHalf, kKernel, kStride>(block, rest);
          pixel += kHalf;
        } else {
          SlidingTile<kQuarter, kKernel, kStride>(block, rest);
          pixel += kQuarter;
        }
      }
    }
  }
}

template <int kKernel>
void SlidingRow(const DepthwiseBlock& block, const PixelRow& row, int stride) {
  return stride == 1 ? SlidingRow<kKernel, 1>(block, row) : SlidingRow<kKernel, 2>(block, row);
}

// Sliding pays if it saves most loads, or if no wide tile could be filled.
bool Slides(const DepthwiseBlock& block, int tap_columns, int64_t pixel_step, int64_t column_step) {
  const bool has_form = (pixel_step == column_step || pixel_step == 2 * column_step) &&
                        (tap_columns == 3 || tap_columns == 5 || tap_columns == 7);
  return has_form && (tap_columns == 7 || block.padded_channels == kLanes);
}

void DepthwiseRow(const DepthwiseBlock& block, const PixelRow& row) {
  if (!Slides(block, row.tap_columns, row.pixel_step, row.column_step)) {
    return DepthwiseRowOfAnyKernel(block, row);
  }
  const int stride = row.pixel_step == row.column_step ? 1 : 2;
  switch (row.tap_columns) {
    case 3:
      return SlidingRow<3>(block, row, stride);
    case 5:
      return SlidingRow<5>(block, row, stride);
    default:
      return SlidingRow<7>(block, row, stride);
  }
}

template <int kVectors>
void DepthwiseTiles(const DepthwiseBlock& block, const PixelList& list, int first_channel,
                    int channels) {
  constexpr int kFull = DepthwiseTilePixels(kVectors);
  int pixel = 0;
  for (; list.count - pixel > kFull / 2; pixel += kFull) {
    DepthwiseTile<kFull, kVectors>(block, list, pixel, HWY_MIN(kFull, list.count - pixel),
                                   first_channel, channels);
  }
  if (pixel < list.count) {
    DepthwiseTile<kFull / 2, kVectors>(block, list, pixel, list.count - pixel, first_channel,
                                       channels);
  }
}

void DepthwiseList(const DepthwiseBlock& block, const PixelList& list) {
  constexpr int kWide = HWY_MIN(4, kMaxVectors);
  const int vectors = block.padded_channels / kLanes;
  const int parts = (vectors + kWide - 1) / kWide;
  for (int part = 0; part < parts; ++part) {
    const int vector = vectors * part / parts;
    const int end = vectors * (part + 1) / parts;
    const int channel = vector * kLanes;
    const int channels = HWY_MIN(end * kLanes, block.channels) - channel;
    switch (end - vector) {
      case 1:
        DepthwiseTiles<1>(block, list, channel, channels);
        break;
      case 2:
        DepthwiseTiles<2>(block, list, channel, channels);
        break;
      case 3:
        DepthwiseTiles<HWY_MIN(3, kWide)>(block, list, channel, channels);
        break;
      default:
        DepthwiseTiles<kWide>(block, list, channel, channels);
    }
  }
}

}  // namespace

const PixelKernels& TargetPixelKernels() {
  static constexpr PixelKernels kKernels = {kLanes,        kMaxVectors,  ConvPixels, ConvRow,
                                            DepthwiseList, DepthwiseRow, Slides};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(PixelKernels)

namespace cacheinf::cpu {

const PixelKernels& ChoosePixelKernelsFor(int outputs) {
  const PixelKernels& best = ChoosePixelKernels();
#if (HWY_TARGETS & HWY_AVX3) && (HWY_TARGETS & HWY_AVX2)
  const PixelKernels& narrow = N_AVX2::TargetPixelKernels();
  if (&best == &N_AVX3::TargetPixelKernels() && outputs <= narrow.lanes) return narrow;
#endif
  return best;
}

}  // namespace cacheinf::cpu
#endif
