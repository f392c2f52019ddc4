// Compiled once per target; include after hwy/highway.h.
#if defined(CACHEINF_SPARSE_OPS_CPU_PIXEL_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHEINF_SPARSE_OPS_CPU_PIXEL_TILES_INL_H_
#undef CACHEINF_SPARSE_OPS_CPU_PIXEL_TILES_INL_H_
#else
#define CACHEINF_SPARSE_OPS_CPU_PIXEL_TILES_INL_H_
#endif

#include <cstdint>

#include "sparse_ops/cpu/pixel_kernels.h"
#include "sparse_ops/cpu/vector_ops-inl.h"

// Holds the sums of some pixels in registers, and applies their epilogue on the way to the outputs.

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {

// The pixels of a tile as the epilogue sees them: of a list or of a row, with addresses computed
// only where they are used.
class PixelsOfTile {
 public:
  HWY_INLINE PixelsOfTile(const PixelList& list, int first, int count)
      : list_(&list), row_(nullptr), first_(first), count_(count) {}
  HWY_INLINE PixelsOfTile(const PixelRow& row, int first, int count)
      : list_(nullptr), row_(&row), first_(first), count_(count) {}

  HWY_INLINE int count() const { return count_; }
  HWY_INLINE float* Output(int p) const {
    return row_ == nullptr ? list_->outputs[first_ + p]
                           : row_->output + (first_ + p) * row_->output_step;
  }

  HWY_INLINE bool has_residual() const {
    return row_ == nullptr ? list_->residuals != nullptr : row_->residual != nullptr;
  }
  HWY_INLINE const float* Residual(int p) const {
    return row_ == nullptr ? list_->residuals[first_ + p]
                           : row_->residual + (first_ + p) * row_->residual_step;
  }

  HWY_INLINE bool asks_for_changes() const {
    return row_ == nullptr ? list_->changed != nullptr : row_->changed != nullptr;
  }
  // Null if unused.
  HWY_INLINE uint8_t* Changed(int p) const {
    if (!asks_for_changes()) return nullptr;
    return row_ == nullptr ? list_->changed[first_ + p] : row_->changed + first_ + p;
  }

  // Null if not compared.
  HWY_INLINE const float* inverse_spread() const {
    return row_ == nullptr ? list_->inverse_spread : row_->inverse_spread;
  }
  HWY_INLINE ComparedPixel Compared(int p) const {
    if (row_ == nullptr) return list_->compared[first_ + p];
    return {row_->compared.old_values + (first_ + p) * row_->old_values_step,
            row_->compared.squares + (first_ + p) * kChangeLanes};
  }

 private:
  const PixelList* list_;
  const PixelRow* row_;
  int first_;
  int count_;
};

// Applies activation + residual to sums in memory, [pixel][width], and stores the outputs. `width`
// is a multiple of lanes, `channels` <= width of them exist.
struct FinishArgs {
  const float* slopes;
  const PixelEpilogue* epilogue;
  PixelsOfTile pixels;
  int first_channel;
  int channels;
  int width;
  bool in_place = false;  // the results stay where the sums were
};

inline void AddResidual(const FinishArgs& args, float* sums) {
  for (int p = 0; p < args.pixels.count(); ++p) {
    const float* residual = args.pixels.Residual(p) + args.first_channel;
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
                              : args.pixels.Output(pixel) + args.first_channel),
        channels_(args.channels),
        changed_(args.pixels.Changed(pixel)) {}

  // Stores channel c and those after it, as many as exist.
  HWY_INLINE void Store(Floats values, int c) {
    if (changed_ != nullptr) {
      const Floats old = LoadFirst(output_ + c, channels_ - c);
      const Floats fresh = hn::IfThenElseZero(FirstLanes(channels_ - c), values);
      difference_ = hn::Or(difference_, hn::Xor(fresh, old));
    }
    StoreFirst(values, output_ + c, channels_ - c);
  }

  // Call it after the last Store. Other threads may compute other channels of the same pixel.
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

// The whole epilogue in one pass, for cheap functions.
template <Function::Kind kind>
__attribute__((flatten)) void FinishAs(const FinishArgs& args, float* sums) {
  constexpr VectorOps ops;
  const PixelEpilogue& epilogue = *args.epilogue;
  const bool has_residual = args.pixels.has_residual();
  const Floats beta = ops.Set(epilogue.activation.beta);
  for (int p = 0; p < args.pixels.count(); ++p) {
    PixelStore store(args, sums, p);
    const float* residual = has_residual ? args.pixels.Residual(p) + args.first_channel : nullptr;
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

inline void FinishCompared(const FinishArgs& args, float* sums);

HWY_NOINLINE inline void FinishInMemory(const FinishArgs& args, float* sums) {
  if (args.pixels.inverse_spread() != nullptr && !args.in_place) return FinishCompared(args, sums);
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
  const bool has_residual = args.pixels.has_residual();
  if (has_residual && !args.epilogue->activation_before_residual) AddResidual(args, sums);
  args.epilogue->apply(args.epilogue->activation, sums, sums,
                       static_cast<int64_t>(args.pixels.count()) * args.width);
  if (has_residual && args.epilogue->activation_before_residual) AddResidual(args, sums);
  if (args.in_place) return;
  for (int p = 0; p < args.pixels.count(); ++p) {
    PixelStore store(args, sums, p);
    for (int c = 0; c < args.channels; c += kLanes) {
      store.Store(hn::LoadU(FloatTag(), sums + p * args.width + c), c);
    }
    store.Mark();
  }
}

// Copies the new values of pixel p from `fresh` to its output.
inline void StoreCompared(const FinishArgs& args, const float* fresh, int p) {
  constexpr int kVectors = kChangeLanes / kLanes;
  const ComparedPixel compared = args.pixels.Compared(p);
  float* const output = args.pixels.Output(p) + args.first_channel;
  float* const old_values = compared.old_values + args.first_channel;
  const float* const inverse_spread = args.pixels.inverse_spread() + args.first_channel;
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

inline void FinishCompared(const FinishArgs& args, float* sums) {
  FinishArgs in_place = args;
  in_place.in_place = true;
  FinishInMemory(in_place, sums);
  for (int p = 0; p < args.pixels.count(); ++p) StoreCompared(args, sums + p * args.width, p);
}

// Whether the epilogue is at most a bias and an almost free function, and nothing asks for changes.
HWY_INLINE bool IsPlain(const PixelEpilogue& epilogue, const PixelsOfTile& pixels) {
  if (pixels.has_residual() || pixels.asks_for_changes() || pixels.inverse_spread() != nullptr) {
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

// A tile's registers: kPixels × kVectors sums.
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

  // Applies one of the functions that IsPlain allows.
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

  // `channels` is in (kWidth - kLanes, kWidth].
  HWY_INLINE void Store(const PixelsOfTile& pixels, int first_channel, int channels) const {
    const int last = channels - (kVectors - 1) * kLanes;
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      if (p >= pixels.count()) break;
      float* output = pixels.Output(p) + first_channel;
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

  // Adds the bias, applies the epilogue, and stores.
  HWY_INLINE void Finish(const float* bias, const float* slopes, const PixelEpilogue& epilogue,
                         const PixelsOfTile& pixels, int first_channel, int channels) {
    if (bias != nullptr) AddBias(bias);
    if (IsPlain(epilogue, pixels)) {
      Apply(epilogue.activation);
      Store(pixels, first_channel, channels);
      return;
    }
    HWY_ALIGN float memory[kPixels * kWidth];
    Spill(memory);
    FinishInMemory({slopes, &epilogue, pixels, first_channel, channels, kWidth}, memory);
  }

  Floats sums[kPixels][kVectors];
};

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CACHEINF_SPARSE_OPS_CPU_PIXEL_TILES_INL_H_
