#include "sparse_ops/cpu/winograd_kernels.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/winograd_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

// Products: this many tiles by so many vectors of output channels are summed in registers. All
// targets' constants stand only here.
#if HWY_TARGET == HWY_AVX2
// 16 registers.
constexpr int kPanelTiles = 6;
constexpr int kBlockVectors = 2;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kPanelTiles = 2;
constexpr int kBlockVectors = 2;
#else
// AVX-512 and NEON: 32 registers.
constexpr int kPanelTiles = 12;
constexpr int kBlockVectors = 2;
#endif

// In a panel of transformed tiles: one vector at one frequency, and at all frequencies.
constexpr int kFrequencyFloats = kPanelTiles * kLanes;
constexpr int kVectorFloats = kFrequencies * kFrequencyFloats;

constexpr float kA = static_cast<float>(kWinogradPoints[0]);
constexpr float kB = static_cast<float>(kWinogradPoints[1]);
constexpr float kAA = kA * kA;
constexpr float kBB = kB * kB;

// Transforms one row or column of a patch.
HWY_INLINE void TransformSix(const Floats (&x)[kPatchSize], Floats (&out)[kPatchSize]) {
  const auto constant = [](float value) { return hn::Set(FloatTag(), value); };
  const Floats even_a = NegFma(constant(kBB), x[2], x[4]);
  const Floats odd_a = NegFma(constant(kBB), x[1], x[3]);
  const Floats even_b = NegFma(constant(kAA), x[2], x[4]);
  const Floats odd_b = NegFma(constant(kAA), x[1], x[3]);
  out[0] = Fma(constant(kAA * kBB), x[0], NegFma(constant(kAA + kBB), x[2], x[4]));
  out[1] = Fma(constant(kA), odd_a, even_a);
  out[2] = NegFma(constant(kA), odd_a, even_a);
  out[3] = Fma(constant(kB), odd_b, even_b);
  out[4] = NegFma(constant(kB), odd_b, even_b);
  out[5] = Fma(constant(kAA * kBB), x[1], NegFma(constant(kAA + kBB), x[3], x[5]));
}

// Transforms one row or column of products back.
HWY_INLINE void TransformBack(const Floats (&m)[kPatchSize], Floats (&out)[kTileSize]) {
  const auto constant = [](float value) { return hn::Set(FloatTag(), value); };
  const Floats sum_a = hn::Add(m[1], m[2]);
  const Floats sum_b = hn::Add(m[3], m[4]);
  const Floats difference_a = hn::Sub(m[1], m[2]);
  const Floats difference_b = hn::Sub(m[3], m[4]);
  out[0] = hn::Add(hn::Add(m[0], sum_a), sum_b);
  out[1] = Fma(constant(kA), difference_a, hn::Mul(constant(kB), difference_b));
  out[2] = Fma(constant(kAA), sum_a, hn::Mul(constant(kBB), sum_b));
  out[3] = Fma(constant(kA * kAA), difference_a, Fma(constant(kB * kBB), difference_b, m[5]));
}

// Transforms one vector of channels, `count` of which exist, of all pixels of a patch.
HWY_INLINE void TransformPatch(const float* const* patch, int channel, int count, float* out) {
  Floats columns[kPatchSize][kPatchSize];
  for (int x = 0; x < kPatchSize; ++x) {
    Floats column[kPatchSize];
    Floats transformed[kPatchSize];
    CACHEINF_UNROLL for (int y = 0; y < kPatchSize; ++y) {
      column[y] = LoadFirst(patch[y * kPatchSize + x] + channel, count);
    }
    TransformSix(column, transformed);
    CACHEINF_UNROLL for (int y = 0; y < kPatchSize; ++y) columns[y][x] = transformed[y];
  }
  for (int y = 0; y < kPatchSize; ++y) {
    Floats transformed[kPatchSize];
    TransformSix(columns[y], transformed);
    CACHEINF_UNROLL for (int x = 0; x < kPatchSize; ++x) {
      hn::Store(transformed[x], FloatTag(), out);
      out += kFrequencyFloats;
    }
  }
}

void TransformInput(const WinogradShape& shape, const float* const* patch, int tile,
                    const WinogradBatch& batch) {
  const int panel = tile / kPanelTiles;
  float* out = batch.transformed + int64_t{panel} * shape.input_vectors * kVectorFloats +
               tile % kPanelTiles * kLanes;
  for (int c = 0; c < shape.inputs; c += kLanes) {
    TransformPatch(patch, c, HWY_MIN(kLanes, shape.inputs - c), out);
    out += kVectorFloats;
  }
}

// Fetches this many lines of the next weights while some channels are multiplied.
struct Ahead {
  const float* weights;
  int lines;
};

constexpr int kStep = HWY_MIN(4, kLanes);  // so many channels
constexpr int kLineFloats = 16;

// Adds kCount channels of all tiles to the sums.
template <int kTiles, int kVectors, int kCount>
HWY_INLINE void AddChannels(const float* HWY_RESTRICT tiles, const float* HWY_RESTRICT weights,
                            Floats (&sums)[kTiles][kVectors]) {
  CACHEINF_UNROLL for (int c = 0; c < kCount; ++c) {
    Floats weight[kVectors];
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      weight[v] = hn::Load(FloatTag(), weights + (c * kVectors + v) * kLanes);
    }
    CACHEINF_UNROLL for (int t = 0; t < kTiles; ++t) {
      const Floats x = hn::Set(FloatTag(), tiles[t * kLanes + c]);
      CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
        sums[t][v] = Fma(x, weight[v], sums[t][v]);
      }
    }
  }
}

// Where the sums of a product go, in floats.
struct ProductStrides {
  int64_t tile;
  int64_t vector;
};

template <int kTiles, int kVectors>
HWY_NOINLINE void Product(const float* HWY_RESTRICT tiles, const float* HWY_RESTRICT weights,
                          int inputs, const ProductStrides& strides, Ahead ahead,
                          float* HWY_RESTRICT out) {
  Floats sums[kTiles][kVectors];
  CACHEINF_UNROLL for (int t = 0; t < kTiles; ++t) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) sums[t][v] = hn::Zero(FloatTag());
  }
  for (; inputs >= kLanes; inputs -= kLanes) {
    for (int c = 0; c < kLanes; c += kStep) {
      for (int line = 0; line < ahead.lines; ++line) {
        __builtin_prefetch(ahead.weights, 0, 2);  // to the second-level cache
        ahead.weights += kLineFloats;
      }
      AddChannels<kTiles, kVectors, kStep>(tiles + c, weights, sums);
      weights += kStep * kVectors * kLanes;
    }
    tiles += kVectorFloats;
  }
  for (int c = 0; c < inputs; ++c) {
    AddChannels<kTiles, kVectors, 1>(tiles + c, weights, sums);
    weights += kVectors * kLanes;
  }
  CACHEINF_UNROLL for (int t = 0; t < kTiles; ++t) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      hn::Store(sums[t][v], FloatTag(), out + t * strides.tile + v * strides.vector);
    }
  }
}

using ProductKernel = void (*)(const float* tiles, const float* weights, int inputs,
                               const ProductStrides& strides, Ahead ahead, float* out);

// The smallest kernel for so many tiles; nobody reads its results beyond them.
template <int kVectors>
ProductKernel ProductFor(int tiles) {
  constexpr int kHalf = (kPanelTiles + 1) / 2;
  constexpr int kQuarter = (kPanelTiles + 3) / 4;
  if (tiles > kHalf) return Product<kPanelTiles, kVectors>;
  if (tiles > kQuarter) return Product<kHalf, kVectors>;
  return tiles > 1 ? Product<kQuarter, kVectors> : Product<1, kVectors>;
}

ProductKernel ProductFor(int tiles, int vectors) {
  switch (vectors) {
    case 1:
      return ProductFor<1>(tiles);
    case 2:
      return ProductFor<HWY_MIN(2, kBlockVectors)>(tiles);
    case 3:
      return ProductFor<HWY_MIN(3, kBlockVectors)>(tiles);
    default:
      return ProductFor<kBlockVectors>(tiles);
  }
}

// Multiplies all tiles at one frequency by one block of weights.
void MultiplyBlock(const WinogradShape& shape, const float* weights, const float* next_weights,
                   int vectors, const WinogradBatch& batch, const float* tiles, float* out) {
  const ProductStrides strides = {int64_t{shape.output_vectors} * kFrequencies * kLanes,
                                  kFrequencies * kLanes};
  const int panels = (batch.tiles + kPanelTiles - 1) / kPanelTiles;
  const int64_t ahead_floats = int64_t{vectors} * kLanes * shape.inputs / panels;
  const int lines = (kStep * vectors * kLanes + kLineFloats * panels - 1) / (kLineFloats * panels);
  for (int panel = 0; panel < panels; ++panel) {
    const int count = HWY_MIN(kPanelTiles, batch.tiles - panel * kPanelTiles);
    const ProductKernel product = ProductFor(count, vectors);
    product(tiles + int64_t{panel} * shape.input_vectors * kVectorFloats, weights, shape.inputs,
            strides, {next_weights + panel * ahead_floats, lines},
            out + int64_t{panel} * kPanelTiles * strides.tile);
  }
}

void Multiply(const WinogradShape& shape, const float* weights, Range frequencies,
              const WinogradBatch& batch) {
  weights += int64_t{frequencies.begin} * shape.inputs * shape.output_vectors * kLanes;
  for (int frequency = frequencies.begin; frequency < frequencies.end; ++frequency) {
    for (int vector = 0; vector < shape.output_vectors; vector += kBlockVectors) {
      const int vectors = HWY_MIN(kBlockVectors, shape.output_vectors - vector);
      const bool is_last =
          frequency + 1 == frequencies.end && vector + vectors == shape.output_vectors;
      const float* const next = weights + int64_t{vectors} * kLanes * shape.inputs;
      MultiplyBlock(shape, weights, is_last ? weights : next, vectors, batch,
                    batch.transformed + frequency * kFrequencyFloats,
                    batch.products + (int64_t{vector} * kFrequencies + frequency) * kLanes);
      weights = next;
    }
  }
}

struct FinishArgs {
  const float* bias;    // of these channels
  const float* slopes;  // likewise
  const PixelEpilogue* epilogue;
  const WinogradOutput* tile;
  int first_channel;
  int channels;
};

// Calls fn(pixel, row, column) for the active pixels.
HWY_INLINE void ForEachActive(const WinogradOutput& tile, const auto& fn) {
  for (int pixel = 0; pixel < kTilePixels; ++pixel) {
    if ((tile.active >> pixel & 1) != 0) fn(pixel, pixel / kTileSize, pixel % kTileSize);
  }
}

HWY_INLINE void AddResidual(const FinishArgs& args, Floats (&sums)[kTilePixels]) {
  const WinogradOutput& tile = *args.tile;
  ForEachActive(tile, [&](int pixel, int row, int column) {
    const float* residual = tile.residual + row * tile.residual_row_stride +
                            column * tile.residual_pixel_stride + args.first_channel;
    sums[pixel] = hn::Add(sums[pixel], LoadFirst(residual, args.channels));
  });
}

HWY_INLINE void Activate(const FinishArgs& args, Floats (&sums)[kTilePixels]) {
  const PixelEpilogue& epilogue = *args.epilogue;
  constexpr VectorOps ops;
  if (epilogue.activation.kind == Function::Kind::kIdentity) return;
  if (epilogue.activation.kind == Function::Kind::kRelu) {
    const Floats zero = hn::Zero(FloatTag());
    for (Floats& sum : sums) sum = Evaluate<Function::Kind::kRelu>(ops, sum, zero, zero);
  } else if (epilogue.prelu != nullptr) {
    const Floats slope = hn::Load(FloatTag(), args.slopes);
    for (Floats& sum : sums) sum = Evaluate<Function::Kind::kPRelu>(ops, sum, slope, slope);
  } else {
    HWY_ALIGN float memory[kTilePixels * kLanes];
    for (int i = 0; i < kTilePixels; ++i) hn::Store(sums[i], FloatTag(), memory + i * kLanes);
    epilogue.apply(epilogue.activation, memory, memory, kTilePixels * kLanes);
    for (int i = 0; i < kTilePixels; ++i) sums[i] = hn::Load(FloatTag(), memory + i * kLanes);
  }
}

HWY_INLINE void Finish(const FinishArgs& args, Floats (&sums)[kTilePixels]) {
  const WinogradOutput& tile = *args.tile;
  if (args.bias != nullptr) {
    const Floats bias = hn::Load(FloatTag(), args.bias);
    for (Floats& sum : sums) sum = hn::Add(sum, bias);
  }
  const bool has_residual = tile.residual != nullptr;
  if (has_residual && !args.epilogue->activation_before_residual) AddResidual(args, sums);
  Activate(args, sums);
  if (has_residual && args.epilogue->activation_before_residual) AddResidual(args, sums);
  ForEachActive(tile, [&](int pixel, int row, int column) {
    StoreFirst(
        sums[pixel],
        tile.output + row * tile.row_stride + column * tile.pixel_stride + args.first_channel,
        args.channels);
  });
}

void TransformOutput(const WinogradShape& shape, const WinogradBatch& batch, int tile,
                     const WinogradEpilogue& epilogue, const WinogradOutput& output) {
  const float* products =
      batch.products + int64_t{tile} * shape.output_vectors * kFrequencies * kLanes;
  for (int vector = 0; vector < shape.output_vectors; ++vector) {
    Floats rows[kTileSize][kPatchSize];
    for (int x = 0; x < kPatchSize; ++x) {
      Floats column[kPatchSize];
      Floats transformed[kTileSize];
      CACHEINF_UNROLL for (int y = 0; y < kPatchSize; ++y) {
        column[y] = hn::Load(FloatTag(), products + (y * kPatchSize + x) * kLanes);
      }
      TransformBack(column, transformed);
      CACHEINF_UNROLL for (int y = 0; y < kTileSize; ++y) rows[y][x] = transformed[y];
    }
    Floats sums[kTilePixels];
    for (int y = 0; y < kTileSize; ++y) {
      Floats transformed[kTileSize];
      TransformBack(rows[y], transformed);
      CACHEINF_UNROLL for (int x = 0; x < kTileSize; ++x) sums[y * kTileSize + x] = transformed[x];
    }
    const int channel = vector * kLanes;
    Finish({epilogue.bias == nullptr ? nullptr : epilogue.bias + channel,
            epilogue.slopes == nullptr ? nullptr : epilogue.slopes + channel, &epilogue.rest,
            &output, channel, HWY_MIN(kLanes, shape.outputs - channel)},
           sums);
    products += kFrequencies * kLanes;
  }
}

}  // namespace

const WinogradKernels& TargetWinogradKernels() {
  static constexpr WinogradKernels kKernels = {kLanes,         kPanelTiles, kBlockVectors,
                                               TransformInput, Multiply,    TransformOutput};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(WinogradKernels)
#endif
