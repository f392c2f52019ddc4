#include "sparse_ops/cpu/pixel_kernels.h"

#include "sparse_ops/cpu/ahead_of_tile.h"
#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/pixel_kernels.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {
namespace {

// Tiles: this many pixels by so many vectors of output channels are summed in registers. Those of
// rows need a register for a pointer to each pixel as well; those that slide, for each weight of a
// row of taps. Constants of all targets stand here and nowhere else.
#if HWY_TARGET == HWY_AVX2
// 16 registers.
constexpr int kMaxVectors = 2;
constexpr int TilePixels(int vectors) { return vectors == 1 ? 8 : 6; }
constexpr int DepthwiseTilePixels(int vectors) { return vectors == 1 ? 12 : 6; }
constexpr int kRowPixels = 6;
constexpr int kRowVectors = 2;
constexpr int kSlidingPixels = 8;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kMaxVectors = 4;
constexpr int TilePixels(int) { return 2; }
constexpr int DepthwiseTilePixels(int) { return 2; }
constexpr int kRowPixels = 2;
constexpr int kRowVectors = 2;
constexpr int kSlidingPixels = 2;
#else
// AVX-512 and NEON: 32 registers.
constexpr int kMaxVectors = 4;
constexpr int TilePixels(int vectors) { return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6; }
constexpr int DepthwiseTilePixels(int vectors) { return vectors <= 2 ? 12 : 6; }
constexpr int kRowPixels = 8;
constexpr int kRowVectors = 3;
constexpr int kSlidingPixels = 12;
#endif

// Input channels from one look ahead to the next.
constexpr int kStepChannels = 16;

// bias + activation + residual on sums that lie in memory, [pixels][width], and on to the outputs.
// `width` is a multiple of lanes, `channels` <= width of them exist.
struct FinishArgs {
  const float* bias;
  const float* slopes;
  const PixelEpilogue* epilogue;
  const PixelList* list;
  int first_pixel;
  int pixels;
  int first_channel;
  int channels;
  int width;
  bool in_place = false;  // the results stay where the sums were
};

void AddResidual(const FinishArgs& args, float* sums) {
  for (int p = 0; p < args.pixels; ++p) {
    const float* residual = args.list->residuals[args.first_pixel + p] + args.first_channel;
    float* sum = sums + p * args.width;
    for (int c = 0; c < args.channels; c += kLanes) {
      const Floats addend = LoadFirst(residual + c, args.channels - c);
      hn::StoreU(hn::Add(hn::LoadU(FloatTag(), sum + c), addend), FloatTag(), sum + c);
    }
  }
}

// Where the values of one pixel go.
class PixelStore {
 public:
  HWY_INLINE PixelStore(const FinishArgs& args, float* sums, int pixel)
      : output_(args.in_place ? sums + pixel * args.width
                              : args.list->outputs[args.first_pixel + pixel] + args.first_channel),
        channels_(args.channels),
        changed_(args.list->changed == nullptr ? nullptr
                                               : args.list->changed[args.first_pixel + pixel]) {}

  // Of channel c and those after it, as many as exist.
  HWY_INLINE void Store(Floats values, int c) {
    if (changed_ != nullptr) {
      const Floats old = LoadFirst(output_ + c, channels_ - c);
      const Floats fresh = hn::IfThenElseZero(FirstLanes(channels_ - c), values);
      difference_ = hn::Or(difference_, hn::Xor(fresh, old));
    }
    StoreFirst(values, output_ + c, channels_ - c);
  }

  // After the last. Other threads may compute other channels of the same pixel.
  HWY_INLINE void Mark() const {
    using BitsTag = hn::RebindToUnsigned<FloatTag>;
    if (changed_ == nullptr) return;
    const auto bits = hn::BitCast(BitsTag(), difference_);
    if (hn::AllTrue(BitsTag(), hn::Eq(bits, hn::Zero(BitsTag())))) return;
    __atomic_store_n(changed_, 1, __ATOMIC_RELAXED);
  }

 private:
  float* output_;
  int channels_;
  uint8_t* changed_;
  Floats difference_ = hn::Zero(FloatTag());
};

// All of it in one pass, for functions that cost little.
template <Function::Kind kind>
__attribute__((flatten)) void FinishAs(const FinishArgs& args, float* sums) {
  constexpr VectorOps ops;
  const PixelEpilogue& epilogue = *args.epilogue;
  const bool has_residual = args.list->residuals != nullptr;
  const Floats beta = ops.Set(epilogue.activation.beta);
  for (int p = 0; p < args.pixels; ++p) {
    PixelStore store(args, sums, p);
    const float* residual =
        has_residual ? args.list->residuals[args.first_pixel + p] + args.first_channel : nullptr;
    for (int c = 0; c < args.channels; c += kLanes) {
      const int count = args.channels - c;
      const Floats alpha = kind == Function::Kind::kPRelu ? hn::LoadU(FloatTag(), args.slopes + c)
                                                          : ops.Set(epilogue.activation.alpha);
      Floats x = hn::LoadU(FloatTag(), sums + p * args.width + c);
      if (has_residual && !epilogue.activation_before_residual) {
        x = hn::Add(x, LoadFirst(residual + c, count));
      }
      x = Evaluate<kind>(ops, x, alpha, beta);
      if (has_residual && epilogue.activation_before_residual) {
        x = hn::Add(x, LoadFirst(residual + c, count));
      }
      store.Store(x, c);
    }
    store.Mark();
  }
}

void FinishCompared(const FinishArgs& args, float* sums);

HWY_NOINLINE void FinishInMemory(const FinishArgs& args, float* sums) {
  if (args.list->compared != nullptr && !args.in_place) return FinishCompared(args, sums);
  switch (args.epilogue->activation.kind) {
    case Function::Kind::kIdentity:
      return FinishAs<Function::Kind::kIdentity>(args, sums);
    case Function::Kind::kRelu:
      return FinishAs<Function::Kind::kRelu>(args, sums);
    case Function::Kind::kLeakyRelu:
      return FinishAs<Function::Kind::kLeakyRelu>(args, sums);
    case Function::Kind::kPRelu:
      return FinishAs<Function::Kind::kPRelu>(args, sums);
    case Function::Kind::kClip:
      return FinishAs<Function::Kind::kClip>(args, sums);
    case Function::Kind::kHardSwish:
      return FinishAs<Function::Kind::kHardSwish>(args, sums);
    default:
      break;
  }
  const bool has_residual = args.list->residuals != nullptr;
  if (has_residual && !args.epilogue->activation_before_residual) AddResidual(args, sums);
  args.epilogue->apply(args.epilogue->activation, sums, sums,
                       static_cast<int64_t>(args.pixels) * args.width);
  if (has_residual && args.epilogue->activation_before_residual) AddResidual(args, sums);
  if (args.in_place) return;
  for (int p = 0; p < args.pixels; ++p) {
    PixelStore store(args, sums, p);
    for (int c = 0; c < args.channels; c += kLanes) {
      store.Store(hn::LoadU(FloatTag(), sums + p * args.width + c), c);
    }
    store.Mark();
  }
}

// The new values of pixel p, which lie at `fresh`, to its output.
void StoreCompared(const FinishArgs& args, const float* fresh, int p) {
  constexpr int kVectors = kChangeLanes / kLanes;
  const ComparedPixel& compared = args.list->compared[args.first_pixel + p];
  float* const output = args.list->outputs[args.first_pixel + p] + args.first_channel;
  float* const old_values = compared.old_values + args.first_channel;
  const float* const inverse_spread = args.list->inverse_spread + args.first_channel;
  const int first_lane = args.first_channel / kLanes;
  Floats lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    lanes[v] = hn::LoadU(FloatTag(), compared.squares + v * kLanes);
  }
  const auto store = [&](int c, int count) {
    const Floats value = LoadFirst(fresh + c, count);
    const Floats old_value = LoadFirst(output + c, count);
    Floats& lane = lanes[(first_lane + c / kLanes) % kVectors];
    lane = AddSquaredChange(lane, value, old_value, LoadFirst(inverse_spread + c, count));
    StoreFirst(old_value, old_values + c, count);
    StoreFirst(value, output + c, count);
  };
  int c = 0;
  for (; c + kLanes <= args.channels; c += kLanes) store(c, kLanes);
  if (c < args.channels) store(c, args.channels - c);
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(lanes[v], FloatTag(), compared.squares + v * kLanes);
  }
}

void FinishCompared(const FinishArgs& args, float* sums) {
  FinishArgs in_place = args;
  in_place.in_place = true;
  FinishInMemory(in_place, sums);
  for (int p = 0; p < args.pixels; ++p) StoreCompared(args, sums + p * args.width, p);
}

// Whether the epilogue is a bias at most and one of the functions that cost next to nothing, and
// nobody asks what changes.
bool IsPlain(const PixelEpilogue& epilogue, const PixelList& list) {
  if (list.residuals != nullptr || list.changed != nullptr || list.compared != nullptr) {
    return false;
  }
  switch (epilogue.activation.kind) {
    case Function::Kind::kIdentity:
    case Function::Kind::kRelu:
    case Function::Kind::kLeakyRelu:
    case Function::Kind::kClip:
    case Function::Kind::kHardSwish:
      return true;
    default:
      return false;
  }
}

// Registers of a tile: kPixels × kVectors sums.
template <int kPixels, int kVectors>
struct Tile {
  static constexpr int kWidth = kVectors * kLanes;

  HWY_INLINE void Clear() {
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) sums[p][v] = hn::Zero(FloatTag());
    }
  }

  HWY_INLINE void AddBias(const float* bias) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      const Floats addend = hn::LoadU(FloatTag(), bias + v * kLanes);
      CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
        sums[p][v] = hn::Add(sums[p][v], addend);
      }
    }
  }

  template <Function::Kind kind>
  HWY_INLINE void ApplyAs(const Function& function) {
    constexpr VectorOps ops;
    const Floats alpha = ops.Set(function.alpha);
    const Floats beta = ops.Set(function.beta);
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
        sums[p][v] = Evaluate<kind>(ops, sums[p][v], alpha, beta);
      }
    }
  }

  // One of those of IsPlain.
  HWY_INLINE void Apply(const Function& function) {
    switch (function.kind) {
      case Function::Kind::kRelu:
        return ApplyAs<Function::Kind::kRelu>(function);
      case Function::Kind::kLeakyRelu:
        return ApplyAs<Function::Kind::kLeakyRelu>(function);
      case Function::Kind::kClip:
        return ApplyAs<Function::Kind::kClip>(function);
      case Function::Kind::kHardSwish:
        return ApplyAs<Function::Kind::kHardSwish>(function);
      default:
        return;
    }
  }

  // `channels` in (kWidth - kLanes, kWidth].
  HWY_INLINE void Store(float* const* outputs, int first_channel, int pixels, int channels) const {
    const int last = channels - (kVectors - 1) * kLanes;
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      if (p >= pixels) break;
      float* output = outputs[p] + first_channel;
      CACHEINF_UNROLL for (int v = 0; v < kVectors - 1; ++v) {
        hn::StoreU(sums[p][v], FloatTag(), output + v * kLanes);
      }
      StoreFirst(sums[p][kVectors - 1], output + (kVectors - 1) * kLanes, last);
    }
  }

  HWY_INLINE void Spill(float* memory) const {
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sums[p][v], FloatTag(), memory + p * kWidth + v * kLanes);
      }
    }
  }

  // Bias and what follows it, and the first `pixels` to their places.
  HWY_INLINE void Finish(const FinishArgs& args) {
    if (args.bias != nullptr) AddBias(args.bias);
    if (IsPlain(*args.epilogue, *args.list)) {
      Apply(args.epilogue->activation);
      Store(args.list->outputs + args.first_pixel, args.first_channel, args.pixels, args.channels);
      return;
    }
    HWY_ALIGN float memory[kPixels * kWidth];
    Spill(memory);
    FinishInMemory(args, memory);
  }

  Floats sums[kPixels][kVectors];
};

// Adds one channel of all pixels to their sums.
template <int kPixels, int kVectors>
HWY_INLINE void AddChannel(const float* const (&input)[kPixels], int channel,
                           const float* HWY_RESTRICT weights, Tile<kPixels, kVectors>& tile) {
  Floats weight[kVectors];
  CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
    weight[v] = hn::Load(FloatTag(), weights + v * kLanes);
  }
  CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
    const Floats x = hn::Set(FloatTag(), input[p][channel]);
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      tile.sums[p][v] = Fma(x, weight[v], tile.sums[p][v]);
    }
  }
}

// Adds one tap of all pixels to their sums; returns the weights of the next.
template <int kPixels, int kVectors>
HWY_INLINE const float* AddTap(const float* const (&input)[kPixels], int inputs,
                               const float* HWY_RESTRICT weights, AheadOfTile& ahead,
                               Tile<kPixels, kVectors>& tile) {
  for (int c = 0; c < inputs;) {
    ahead.Fetch();
    for (const int end = HWY_MIN(c + kStepChannels, inputs); c < end; ++c) {
      AddChannel(input, c, weights, tile);
      weights += kVectors * kLanes;
    }
  }
  return weights;
}

// Pixels [first_pixel, first_pixel + pixels) of the list, pixels <= kPixels.
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
    const float* input[kPixels];
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) input[p] = tap[p] + block.first_input;
    weights = AddTap(input, block.inputs, weights, ahead, tile);
  }
  tile.Finish({block.bias, block.slopes, &block.epilogue, &list, first_pixel, pixels,
               block.first_output, block.outputs, kVectors * kLanes});
}

// Full tiles, then the smallest tile that holds the rest.
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

void FinishSums(const ConvBlock& block, const PixelList& list, int first_pixel, int pixels,
                float* sums) {
  const int width = block.vectors * kLanes;
  for (int p = 0; p < pixels && block.bias != nullptr; ++p) {
    for (int c = 0; c < width; c += kLanes) {
      float* const sum = sums + p * width + c;
      const Floats bias = hn::LoadU(FloatTag(), block.bias + c);
      hn::StoreU(hn::Add(hn::LoadU(FloatTag(), sum), bias), FloatTag(), sum);
    }
  }
  FinishInMemory({block.bias, block.slopes, &block.epilogue, &list, first_pixel, pixels,
                  block.first_output, block.outputs, width},
                 sums);
}

// kVectors vectors of channels, of which `channels` exist, from first_channel.
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
  tile.Finish({block.bias == nullptr ? nullptr : block.bias + first_channel,
               block.slopes == nullptr ? nullptr : block.slopes + first_channel, &block.epilogue,
               &list, first_pixel, pixels, first_channel, channels, kVectors * kLanes});
}

// Where the taps of some pixels of a row lie, in one row of taps.
struct TapRow {
  const float* first;  // under the first tap of the first pixel
  int64_t pixel_step;
  int64_t column_step;

  TapRow(const PixelRow& row, int y, int first_pixel, int first_channel) {
    const bool is_inside = y >= row.rows_inside.begin && y < row.rows_inside.end;
    pixel_step = is_inside ? row.pixel_step : 0;
    column_step = is_inside ? row.column_step : 0;
    first = is_inside ? row.first + (y - row.rows_inside.begin) * row.row_step : row.zeros;
    first += first_pixel * pixel_step + first_channel;
  }
};

// Some pixels of a row as a list without taps.
template <int kPixels>
struct RowOutputs {
  float* outputs[kPixels];
  const float* residuals[kPixels];
  uint8_t* changed[kPixels];
  ComparedPixel compared[kPixels];
  PixelList list;

  HWY_INLINE RowOutputs(const PixelRow& row, int first_pixel, int pixels) {
    for (int p = 0; p < pixels; ++p) {
      outputs[p] = row.output + (first_pixel + p) * row.output_step;
      if (row.residual != nullptr) {
        residuals[p] = row.residual + (first_pixel + p) * row.residual_step;
      }
      if (row.changed != nullptr) changed[p] = row.changed + first_pixel + p;
      if (row.inverse_spread == nullptr) continue;
      compared[p] = {row.compared.old_values + (first_pixel + p) * row.old_values_step,
                     row.compared.squares + (first_pixel + p) * kChangeLanes};
    }
    list.count = pixels;
    list.outputs = outputs;
    if (row.residual != nullptr) list.residuals = residuals;
    if (row.changed != nullptr) list.changed = changed;
    if (row.inverse_spread != nullptr) list.compared = compared;
    list.inverse_spread = row.inverse_spread;
  }
};

template <int kPixels, int kVectors>
HWY_NOINLINE void ConvRowTile(const ConvBlock& block, const PixelRow& row, int first_pixel) {
  const RowOutputs<kPixels> to(row, first_pixel, kPixels);
  Tile<kPixels, kVectors> tile;
  tile.Clear();
  const float* weights = block.weights;
  for (int y = 0; y < row.tap_rows; ++y) {
    const TapRow taps(row, y, first_pixel, block.first_input);
    for (int x = 0; x < row.tap_columns; ++x) {
      const float* input[kPixels];
      CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
        input[p] = taps.first + p * taps.pixel_step + x * taps.column_step;
      }
      // Pictures have three channels.
      _Pragma("GCC unroll 3") for (int c = 0; c < block.inputs; ++c) {
        AddChannel(input, c, weights, tile);
        weights += kVectors * kLanes;
      }
    }
  }
  tile.Finish({block.bias, block.slopes, &block.epilogue, &to.list, 0, kPixels, block.first_output,
               block.outputs, kVectors * kLanes});
}

template <int kVectors>
void ConvRowTiles(const ConvBlock& block, const PixelRow& row) {
  constexpr int kPixels = TilePixels(kVectors);
  static_assert(kListPixels % kPixels == 0, "the rows that are given are whole lists");
  for (int pixel = 0; pixel < row.count; pixel += kPixels) {
    ConvRowTile<kPixels, kVectors>(block, row, pixel);
  }
}

void ConvRow(const ConvBlock& block, const PixelRow& row) {
  switch (block.vectors) {
    case 1:
      return ConvRowTiles<1>(block, row);
    case 2:
      return ConvRowTiles<2>(block, row);
    case 3:
      return ConvRowTiles<HWY_MIN(3, kMaxVectors)>(block, row);
    default:
      return ConvRowTiles<kMaxVectors>(block, row);
  }
}

// Some pixels of a row by some vectors of channels, of which `channels` exist: all of them, or
// those of the last vector in part.
struct RowTile {
  const PixelRow* row;
  int first_pixel;
  int pixels;
  int first_channel;
  int channels;
};

template <int kPixels, int kVectors>
HWY_INLINE void FinishRowTile(const DepthwiseBlock& block, const RowTile& at,
                              Tile<kPixels, kVectors>& tile) {
  const RowOutputs<kPixels> to(*at.row, at.first_pixel, at.pixels);
  tile.Finish({block.bias == nullptr ? nullptr : block.bias + at.first_channel,
               block.slopes == nullptr ? nullptr : block.slopes + at.first_channel, &block.epilogue,
               &to.list, 0, at.pixels, at.first_channel, at.channels, kVectors * kLanes});
}

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
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      input[p] = taps.first + HWY_MIN(p, at.pixels - 1) * taps.pixel_step;
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
  FinishRowTile(block, at, tile);
}

template <int kVectors>
void DepthwiseRowTiles(const DepthwiseBlock& block, const RowTile& at) {
  constexpr int kHalf = kRowPixels / 2;
  const bool is_whole = at.channels == kVectors * kLanes;
  if (at.pixels > kHalf) {
    is_whole ? DepthwiseRowTile<kRowPixels, kVectors, true>(block, at)
             : DepthwiseRowTile<kRowPixels, kVectors, false>(block, at);
  } else {
    is_whole ? DepthwiseRowTile<kHalf, kVectors, true>(block, at)
             : DepthwiseRowTile<kHalf, kVectors, false>(block, at);
  }
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
          DepthwiseRowTiles<1>(block, at);
          break;
        case 2:
          DepthwiseRowTiles<2>(block, at);
          break;
        default:
          DepthwiseRowTiles<kRowVectors>(block, at);
      }
    }
  }
}

// One vector of channels, every input number being read once for all pixels that it belongs to.
template <int kPixels, int kKernel, int kStride, bool kWhole>
HWY_NOINLINE void SlidingTile(const DepthwiseBlock& block, const RowTile& at) {
  constexpr int kColumns = (kPixels - 1) * kStride + kKernel;
  const PixelRow& row = *at.row;
  const int last_column = (at.pixels - 1) * kStride + kKernel - 1;
  for (int p = 0; p < at.pixels; ++p) {
    hwy::Prefetch(row.output + (at.first_pixel + p) * row.output_step + at.first_channel);
  }
  Tile<kPixels, 1> tile;
  tile.Clear();
  const float* HWY_RESTRICT weights = block.weights + at.first_channel;
  for (int y = 0; y < row.tap_rows; ++y) {
    const TapRow taps(row, y, at.first_pixel, at.first_channel);
    Floats weight[kKernel];
    CACHEINF_UNROLL for (int x = 0; x < kKernel; ++x) {
      weight[x] = hn::Load(FloatTag(), weights);
      weights += block.padded_channels;
    }
    CACHEINF_UNROLL for (int column = 0; column < kColumns; ++column) {
      const float* const from = taps.first + HWY_MIN(column, last_column) * taps.column_step;
      const Floats number =
          kWhole ? hn::LoadU(FloatTag(), from) : MaskedLoadFirst(from, at.channels);
      CACHEINF_UNROLL for (int x = 0; x < kKernel; ++x) {
        if (column < x || (column - x) % kStride != 0 || (column - x) / kStride >= kPixels)
          continue;
        Floats& sum = tile.sums[(column - x) / kStride][0];
        sum = Fma(number, weight[x], sum);
      }
    }
  }
  FinishRowTile(block, at, tile);
}

template <int kKernel, int kStride>
void SlidingRow(const DepthwiseBlock& block, const PixelRow& row) {
  constexpr int kPixels = kStride == 1 ? kSlidingPixels : HWY_MIN(8, kSlidingPixels);
  constexpr int kHalf = kPixels / 2;
  constexpr int kTilesTogether = 4;  // that one vector's weights are read for
  for (int part = 0; part < row.count; part += kTilesTogether * kPixels) {
    const int end = HWY_MIN(row.count, part + kTilesTogether * kPixels);
    for (int channel = 0; channel < block.channels; channel += kLanes) {
      const int channels = HWY_MIN(kLanes, block.channels - channel);
      for (int pixel = part; pixel < end; pixel += kPixels) {
        const RowTile at = {&row, pixel, HWY_MIN(kPixels, end - pixel), channel, channels};
        if (channels < kLanes) {
          SlidingTile<kPixels, kKernel, kStride, false>(block, at);
        } else if (at.pixels > kHalf) {
          SlidingTile<kPixels, kKernel, kStride, true>(block, at);
        } else {
          SlidingTile<kHalf, kKernel, kStride, true>(block, at);
        }
      }
    }
  }
}

template <int kKernel>
void SlidingRow(const DepthwiseBlock& block, const PixelRow& row, int stride) {
  return stride == 1 ? SlidingRow<kKernel, 1>(block, row) : SlidingRow<kKernel, 2>(block, row);
}

// Sliding pays where it saves most loads, or where no wide tile could be filled.
bool Slides(const DepthwiseBlock& block, const PixelRow& row, int stride) {
  return row.pixel_step == stride * row.column_step &&
         (row.tap_columns == 7 || block.padded_channels == kLanes);
}

void DepthwiseRow(const DepthwiseBlock& block, const PixelRow& row) {
  for (const int stride : {1, 2}) {
    if (!Slides(block, row, stride)) continue;
    switch (row.tap_columns) {
      case 3:
        return SlidingRow<3>(block, row, stride);
      case 5:
        return SlidingRow<5>(block, row, stride);
      case 7:
        return SlidingRow<7>(block, row, stride);
      default:
        break;
    }
  }
  DepthwiseRowOfAnyKernel(block, row);
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
  static constexpr PixelKernels kKernels = {kLanes,     kMaxVectors,   ConvPixels,  ConvRow,
                                            FinishSums, DepthwiseList, DepthwiseRow};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(PixelKernels)
#endif
