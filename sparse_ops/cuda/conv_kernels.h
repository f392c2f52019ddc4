#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "sparse_ops/cuda/conv_tiles.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/functions.h"
#include "sparse_ops/cuda/lanes.h"
#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/settle.h"
#include "sparse_ops/cuda/walk.h"
#include "sparse_ops/specs.h"
#include "sparse_ops/views.h"

namespace cacheinf::cuda {

// Where taps lie along one axis. Output o belongs to phase o % phases, and outputs of one phase
// have the same taps of the kernel. A plain convolution has one phase, a transposed one as many as
// its stride. The first tap is at input (o * scale + offset) / divisor, which has no remainder;
// each next one lies `step` further.
struct ConvAxis {
  int phases = 1;
  int scale = 1;
  int divisor = 1;
  int step = 1;
};

// The taps of one phase along one axis.
struct alignas(8) PhaseTaps {
  int count;
  int offset;
};

// What a convolution's kernels take. All pointers are the device's.
struct ConvWork {
  ConstImageView input;
  ConstImageView residual;  // null data: none
  ImageView output;
  Pixels pixels;

  int groups = 1;
  int group_inputs = 0;
  int group_outputs = 0;
  int padded_inputs = 0;            // a group's, to a multiple of four
  int padded_outputs = 0;           // likewise
  bool has_aligned_inputs = false;  // each four can be copied at once
  ConvAxis rows;
  ConvAxis columns;
  const PhaseTaps* row_taps = nullptr;     // [rows.phases]
  const PhaseTaps* column_taps = nullptr;  // [columns.phases]
  const float* weights = nullptr;          // packed (conv_weights.h)
  const int64_t* phase_weights = nullptr;  // [rows.phases][columns.phases]: where each begins

  const float* bias = nullptr;    // one per output channel; -0 where the model has none
  const float* slopes = nullptr;  // one per output channel for kPRelu, else null
  Function activation;
  bool activation_before_residual = false;

  SettleArgs test;  // only where one block computes all channels of a pixel

  template <class Thread>
  CACHEINF_KERNEL int Count(const Thread& thread) const {
    return pixels.count == nullptr ? pixels.most : thread.LoadReadOnly(pixels.count);
  }
  template <class Thread>
  CACHEINF_KERNEL int Pixel(const Thread& thread, int i) const {
    return pixels.list == nullptr ? pixels.first + i : thread.LoadReadOnly(pixels.list + i);
  }

  // Adds bias and residual to the sums and activates them: `count` neighbouring channels of an
  // output pixel, at most four.
  template <class Thread>
  CACHEINF_KERNEL void Finish(const Thread& thread, int image, int y, int x, int channel, int count,
                              float (&sums)[4]) const {
    float numbers[4];
    LoadQuad(thread, bias + channel, 1, count, numbers);
    CACHEINF_UNROLL
    for (int i = 0; i < 4; ++i) sums[i] += numbers[i];
    if (residual.data != nullptr) {
      LoadQuad(thread, residual.Pixel(image, y, x) + channel, 1, count, numbers);
    }
    if (residual.data != nullptr && !activation_before_residual) {
      CACHEINF_UNROLL
      for (int i = 0; i < 4; ++i) sums[i] += numbers[i];
    }
    float alphas[4] = {};
    if (slopes != nullptr) LoadQuad(thread, slopes + channel, 1, count, alphas);
    ApplyTo(activation, alphas, sums);
    if (residual.data != nullptr && activation_before_residual) {
      CACHEINF_UNROLL
      for (int i = 0; i < 4; ++i) sums[i] += numbers[i];
    }
  }
};

// Convolution as a product of matrices. A block computes a tile: some listed pixels by some of a
// group's output channels. A sum takes its products by kernel row, kernel column and channel of the
// group, padded to a multiple of four. Shared memory stages kConvDepth of them at a time, the next
// ones while these are multiplied. Padding, and the rest of the last kConvDepth, are products
// +0 × -0, which change no sum, not even -0.
//
// A launch has two shapes of tiles, and takes the large one where there is enough to do. Block x
// counts tiles of pixels and, within each, tiles of channels; block z counts images and, within
// each, phases. With several phases, a block looks through that many times more pixels and takes
// those of its own phase.
template <class Large, class Small, int blocks_at_once = 3>
struct ConvGemm {
  static_assert(Large::kPrecision == Small::kPrecision &&
                    Large::kByWarpgroup == Small::kByWarpgroup &&
                    Large::kInstructionChannels == Small::kInstructionChannels,
                "tiles do not change bits: one instruction multiplies in both");
  static constexpr const char* kName = "ConvGemm";
  static constexpr int kThreads = kConvThreads;
  static constexpr int kBlocksAtOnce = blocks_at_once;
  // Whether a block computes all channels of a pixel, up to kChannels, in either shape.
  static constexpr bool kTakesTest = Large::kChannels == Small::kChannels;
  static constexpr int kChannels = Small::kChannels;

  ConvWork work;
  int small_up_to = 0;  // pixels

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int count = work.Count(thread);
    if (count > small_up_to) {
      RunBlock<Large>(thread, count);
    } else {
      RunBlock<Small>(thread, count);
    }
  }

  // Blocks along x that are enough for up to `most` pixels.
  static int BlocksX(const ConvWork& work, int most, int small_up_to) {
    const int large = most > small_up_to ? BlocksOf<Large>(work, most) : 0;
    const int small = BlocksOf<Small>(work, most < small_up_to ? most : small_up_to);
    return large < small ? small : large;
  }
  // The most pixels whose large tiles leave a multiprocessor without one.
  static int MostWithoutLargeTiles(const ConvWork& work, int multiprocessors) {
    const int images = work.output.batch;
    const int tiles_of_pixels =
        (multiprocessors - 1) / (images * work.groups * ChannelBlocks<Large>(work));
    return tiles_of_pixels * Large::kPixels;
  }
  static size_t SharedBytes() {
    const size_t large = SharedBytesOf<Large>();
    const size_t small = SharedBytesOf<Small>();
    return large < small ? small : large;
  }

 private:
  static constexpr int kStages = 3;
  static constexpr int kFours = kConvDepth / 4;
  static constexpr int kNowhere = -(1 << 30);  // a row of no picture, however far the taps reach

  // A pixel of the tile.
  struct alignas(16) Place {
    int row;  // of its first tap, in the input; kNowhere if there is no pixel
    int column;
    int y;  // in the output
    int x;
  };

  struct Job {
    int image;
    int group;
    int first_channel;  // of the group
    int row_phase;
    int column_phase;
    PhaseTaps row_taps;
    PhaseTaps column_taps;
    int begin;  // the pixels to choose from: begin to end - 1 of the list
    int end;
  };

  // What a thread stages next: a tap, and the first of four channels.
  struct Cursor {
    int row_tap;
    int column_tap;
    int channel;

    CACHEINF_KERNEL void Advance(int channels, int padded_inputs, int column_taps) {
      channel += channels;
      while (channel >= padded_inputs) {
        channel -= padded_inputs;
        if (++column_tap == column_taps) {
          column_tap = 0;
          ++row_tap;
        }
      }
    }
  };

  // Shared memory: places, the warps' counts of pixels, then stages of inputs and weights. In the
  // end, sums take the place of the stages.
  template <class Tile>
  struct Layout {
    static constexpr size_t kCountsAt = Tile::kPixels * sizeof(Place);
    static constexpr size_t kStagesAt = kCountsAt + kConvThreads / kWarp * sizeof(int);
    static constexpr int kInputFloats = Tile::kPixels * Tile::kInputStride;
    static constexpr int kWeightStride = Tile::kChannels * WeightWords(Tile::kPrecision);
    static constexpr int kStageFloats = kInputFloats + Tile::kWeightRows * kWeightStride;
    static constexpr int kSumStride = Tile::kChannels + 4;
    static_assert(kStagesAt % 16 == 0 && kInputFloats % 4 == 0 && kStageFloats % 4 == 0, "aligned");
  };

  template <class Tile>
  static constexpr size_t SharedBytesOf() {
    constexpr int kStaged = kStages * Layout<Tile>::kStageFloats;
    constexpr int kSums = Tile::kPixels * Layout<Tile>::kSumStride;
    return Layout<Tile>::kStagesAt + sizeof(float) * (kStaged < kSums ? kSums : kStaged);
  }

  template <class Tile>
  CACHEINF_HOST_DEVICE static int ChannelBlocks(const ConvWork& work) {
    return (work.group_outputs + Tile::kChannels - 1) / Tile::kChannels;
  }
  template <class Tile>
  static int BlocksOf(const ConvWork& work, int pixels) {
    const int span = Tile::kPixels * work.rows.phases * work.columns.phases;
    return (pixels + span - 1) / span * work.groups * ChannelBlocks<Tile>(work);
  }

  template <class Tile, class Thread>
  CACHEINF_KERNEL void RunBlock(const Thread& thread, int count) const {
    const int channel_blocks = ChannelBlocks<Tile>(work);
    const int phases = work.rows.phases * work.columns.phases;
    const int in_group = thread.BlockX() % (work.groups * channel_blocks);
    const int phase = thread.BlockZ() % phases;
    const int span = Tile::kPixels * phases;
    Job job;
    job.begin = thread.BlockX() / (work.groups * channel_blocks) * span;
    if (job.begin >= count) return;
    job.end = count - job.begin < span ? count : job.begin + span;
    job.image = thread.BlockZ() / phases;
    job.group = in_group / channel_blocks;
    job.first_channel = in_group % channel_blocks * Tile::kChannels;
    job.row_phase = phase / work.columns.phases;
    job.column_phase = phase % work.columns.phases;
    job.row_taps = thread.LoadReadOnly(work.row_taps + job.row_phase);
    job.column_taps = thread.LoadReadOnly(work.column_taps + job.column_phase);
    for (int first = 0;; first += Tile::kPixels) {
      const int found = FindPlaces<Tile>(thread, job, first);
      if (found > first) RunTile<Tile>(thread, job);
      if (found <= first + Tile::kPixels) return;
    }
  }

  // The job's pixels of its phase have places, in order. Writes those of the tile that begins with
  // place `first`, and returns how many places there are in all.
  template <class Tile, class Thread>
  CACHEINF_KERNEL int FindPlaces(const Thread& thread, const Job& job, int first) const {
    Place* const places = thread.template Shared<Place>();
    const int phases = work.rows.phases * work.columns.phases;
    if (phases == 1) {
      for (int i = thread.ThreadIndex(); i < Tile::kPixels; i += kThreads) {
        Place place = {kNowhere, 0, 0, 0};
        if (job.begin + i < job.end) FindPlace(thread, job, job.begin + i, place);
        thread.Store(places + i, place);
      }
      thread.Barrier();
      return job.end - job.begin;
    }
    // Each thread looks through a run of the list.
    const int each = (Tile::kPixels * phases + kThreads - 1) / kThreads;
    const int from = job.begin + thread.ThreadIndex() * each;
    const int to = job.end - from < each ? job.end : from + each;
    Place place;
    int own = 0;
    for (int i = from; i < to; ++i) own += FindPlace(thread, job, i, place) ? 1 : 0;
    int before = SumUpToLane(thread, own);
    int* const counts = thread.template Shared<int>(Layout<Tile>::kCountsAt);
    if (thread.Lane() == kWarp - 1) thread.Store(counts + thread.Warp(), before);
    thread.Barrier();  // the previous tile's places are no longer read, either
    before -= own;
    int found = 0;
    for (int warp = 0; warp < kThreads / kWarp; ++warp) {
      const int of_warp = thread.Load(counts + warp);
      if (warp < thread.Warp()) before += of_warp;
      found += of_warp;
    }
    for (int i = thread.ThreadIndex(); i < Tile::kPixels; i += kThreads) {
      if (first + i >= found) thread.Store(places + i, Place{kNowhere, 0, 0, 0});
    }
    for (int i = from; i < to; ++i) {
      if (!FindPlace(thread, job, i, place)) continue;
      if (before >= first && before < first + Tile::kPixels) {
        thread.Store(places + (before - first), place);
      }
      ++before;
    }
    thread.Barrier();
    return found;
  }

  // Sets the place of pixel i of the list. Returns false if the pixel belongs to another phase.
  template <class Thread>
  CACHEINF_KERNEL bool FindPlace(const Thread& thread, const Job& job, int i, Place& place) const {
    const auto pixel = static_cast<unsigned>(work.Pixel(thread, i));
    const auto width = static_cast<unsigned>(work.output.width);
    place.y = static_cast<int>(pixel / width);
    place.x = static_cast<int>(pixel % width);
    place.row = FirstTap(work.rows, job.row_taps, place.y);
    place.column = FirstTap(work.columns, job.column_taps, place.x);
    return place.y % work.rows.phases == job.row_phase &&
           place.x % work.columns.phases == job.column_phase;
  }

  CACHEINF_KERNEL static int FirstTap(const ConvAxis& axis, const PhaseTaps& taps, int out) {
    return (out * axis.scale + taps.offset) / axis.divisor;
  }

  // Computes the tile whose places are written.
  template <class Tile, class Thread>
  CACHEINF_KERNEL void RunTile(const Thread& thread, const Job& job) const {
    constexpr int kStageFloats = Layout<Tile>::kStageFloats;
    const int depth = job.row_taps.count * job.column_taps.count * work.padded_inputs;
    const int steps = (depth + kConvDepth - 1) / kConvDepth;
    const int phase = job.row_phase * work.columns.phases + job.column_phase;
    const float* weights =
        work.weights + thread.LoadReadOnly(work.phase_weights + phase) +
        (static_cast<int64_t>(job.group) * steps * Tile::kWeightRows * work.padded_outputs +
         job.first_channel) *
            WeightWords(Tile::kPrecision);
    Cursor cursor = {0, 0, 0};
    cursor.Advance(thread.ThreadIndex() % kFours * 4, work.padded_inputs, job.column_taps.count);

    float* const stages = thread.template Shared<float>(Layout<Tile>::kStagesAt);
    for (int step = 0; step < kStages - 1; ++step) {
      if (step < steps) Stage<Tile>(thread, job, weights, cursor, stages + step * kStageFloats);
      thread.CommitCopies();
    }
    Tile tile;
    int used = 0;
    CACHEINF_NO_UNROLL
    for (int left = steps; left > 0; --left) {
      thread.template WaitForCopies<kStages - 2>();
      if constexpr (Tile::kByWarpgroup) thread.ShowToWarpgroup();
      // All threads' copies have landed, and none reads the previous stage, which is filled next.
      thread.Barrier();
      if (left > kStages - 1) {
        const int filled = used == 0 ? kStages - 1 : used - 1;
        Stage<Tile>(thread, job, weights, cursor, stages + filled * kStageFloats);
      }
      thread.CommitCopies();
      const float* const stage = stages + used * kStageFloats;
      tile.Multiply(thread, stage, stage + Layout<Tile>::kInputFloats);
      used = used + 1 == kStages ? 0 : used + 1;
    }
    thread.template WaitForCopies<0>();
    thread.Barrier();
    tile.Store(thread, stages, Layout<Tile>::kSumStride);
    thread.Barrier();
    FinishTile<Tile>(thread, job, stages);
    if (!HasTest()) return;
    thread.Barrier();
    SettleTile<Tile>(thread, stages);
  }

  // Starts to copy the inputs and weights of one step, and advances to the next.
  template <class Tile, class Thread>
  CACHEINF_KERNEL void Stage(const Thread& thread, const Job& job, const float*& weights,
                             Cursor& cursor, float* stage) const {
    const Place* const places = thread.template Shared<Place>();
    const int four = thread.ThreadIndex() % kFours;
    const float* const image = work.input.data + job.image * work.input.batch_stride +
                               job.group * work.group_inputs + cursor.channel;
    const int down = cursor.row_tap * work.rows.step;
    const int right = cursor.column_tap * work.columns.step;
    // Past the last product, zeros.
    const int channels =
        cursor.row_tap < job.row_taps.count ? work.group_inputs - cursor.channel : 0;
    CACHEINF_UNROLL
    for (int first = 0; first < Tile::kPixels; first += kThreads / kFours) {
      const int i = first + thread.ThreadIndex() / kFours;
      if (i >= Tile::kPixels) break;
      const Place place = thread.Load(places + i);
      const int row = place.row + down;
      const int column = place.column + right;
      const bool is_inside =
          static_cast<unsigned>(row) < static_cast<unsigned>(work.input.height) &&
          static_cast<unsigned>(column) < static_cast<unsigned>(work.input.width);
      const float* const from =
          is_inside ? image + row * work.input.row_stride + column * work.input.pixel_stride
                    : work.input.data;
      float* const to = stage + i * Tile::kInputStride + four * 4;
      if (work.has_aligned_inputs) {
        thread.CopyAsyncOrZero(reinterpret_cast<Float4*>(to), reinterpret_cast<const Float4*>(from),
                               is_inside && channels > 0);
      } else {
        CACHEINF_UNROLL
        for (int c = 0; c < 4; ++c) {
          const bool copies = is_inside && c < channels;
          thread.CopyAsyncOrZero(to + c, copies ? from + c : work.input.data, copies);
        }
      }
    }
    cursor.Advance(kConvDepth, work.padded_inputs, job.column_taps.count);

    constexpr int kWords = WeightWords(Tile::kPrecision);
    constexpr int kRowFours = Layout<Tile>::kWeightStride / 4;
    const int row_words = work.padded_outputs * kWords;
    CACHEINF_UNROLL
    for (int first = 0; first < Tile::kWeightRows * kRowFours; first += kThreads) {
      const int i = first + thread.ThreadIndex();
      if (i >= Tile::kWeightRows * kRowFours) break;
      const int row = i / kRowFours;
      const int word = i % kRowFours * 4;
      const bool copies = job.first_channel + word / kWords < work.padded_outputs;
      const float* const from = copies ? weights + row * row_words + word : work.weights;
      float* const to = stage + Layout<Tile>::kInputFloats + i * 4;
      thread.CopyAsyncOrZero(reinterpret_cast<Float4*>(to), reinterpret_cast<const Float4*>(from),
                             copies);
    }
    weights += Tile::kWeightRows * row_words;
  }

  template <class Tile, class Thread>
  CACHEINF_KERNEL void FinishTile(const Thread& thread, const Job& job, float* sums) const {
    const Place* const places = thread.template Shared<Place>();
    constexpr int kRowFours = Tile::kChannels / 4;
    for (int i = thread.ThreadIndex(); i < Tile::kPixels * kRowFours; i += kThreads) {
      const int channel = i % kRowFours * 4;
      const int left = work.group_outputs - job.first_channel - channel;
      const Place place = thread.Load(places + i / kRowFours);
      if (place.row == kNowhere || left <= 0) continue;
      auto* const four =
          reinterpret_cast<Float4*>(sums + i / kRowFours * Layout<Tile>::kSumStride + channel);
      const Float4 sum = thread.Load(four);
      float numbers[4] = {sum.x, sum.y, sum.z, sum.w};
      const int of_output = job.group * work.group_outputs + job.first_channel + channel;
      const int count = left < 4 ? left : 4;
      work.Finish(thread, job.image, place.y, place.x, of_output, count, numbers);
      if (HasTest()) {
        thread.Store(four, Float4{numbers[0], numbers[1], numbers[2], numbers[3]});
      } else {
        StoreQuad(thread, work.output.Pixel(job.image, place.y, place.x) + of_output, 1, count,
                  numbers);
      }
    }
  }

  CACHEINF_KERNEL bool HasTest() const { return kTakesTest && work.test.active.words != nullptr; }

  // `values` lie where the sums did.
  template <class Tile, class Thread>
  CACHEINF_KERNEL void SettleTile(const Thread& thread, const float* values) const {
    const Place* const places = thread.template Shared<Place>();
    for (int i = thread.ThreadIndex() / kLanes; i < Tile::kPixels; i += kThreads / kLanes) {
      const Place place = thread.Load(places + i);
      SettlePixel(thread, work.test, place.row != kNowhere, place.y, place.x,
                  values + i * Layout<Tile>::kSumStride, work.output);
    }
  }
};

// Convolution of small groups. A thread computes up to four neighbouring channels of a pixel. With
// one input and one output per group (depthwise) it reads four inputs at once.
template <bool is_depthwise>
struct ConvDirect {
  static constexpr const char* kName = is_depthwise ? "ConvDepthwise" : "ConvOfSmallGroups";
  static constexpr int kThreads = Walk::kThreads;

  ConvWork work;  // weights: taps × inputs of a group × padded_outputs
  Walk walk;
  WindowAxis rows;
  WindowAxis columns;
  bool transposed = false;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    if (!walk.Find(thread, share)) return;
    const int pixel = share.position - share.image * walk.plane;
    const int y = pixel / work.output.width;
    const int x = pixel - y * work.output.width;
    float sums[4] = {};
    for (int ky = 0; ky < rows.kernel; ++ky) {
      int in_y = 0;
      if (!FindTap(rows, y, ky, in_y)) continue;
      for (int kx = 0; kx < columns.kernel; ++kx) {
        int in_x = 0;
        if (!FindTap(columns, x, kx, in_x)) continue;
        const bool is_inside =
            static_cast<unsigned>(in_y) < static_cast<unsigned>(work.input.height) &&
            static_cast<unsigned>(in_x) < static_cast<unsigned>(work.input.width);
        const float* const in = is_inside ? work.input.Pixel(share.image, in_y, in_x) : nullptr;
        AddTap(thread, share, in, ky * columns.kernel + kx, sums);
      }
    }
    work.Finish(thread, share.image, y, x, share.element, share.count, sums);
    StoreQuad(thread, work.output.Pixel(share.image, y, x) + share.element, 1, share.count, sums);
  }

 private:
  CACHEINF_KERNEL bool FindTap(const WindowAxis& axis, int out, int k, int& in) const {
    if (!transposed) {
      in = out * axis.stride - axis.pad_begin + k * axis.dilation;
      return true;
    }
    const int scaled = out + axis.pad_begin - k * axis.dilation;
    in = scaled / axis.stride;
    return scaled % axis.stride == 0;
  }

  // `in` is null outside the picture.
  template <class Thread>
  CACHEINF_KERNEL void AddTap(const Thread& thread, const Share& share, const float* in, int tap,
                              float (&sums)[4]) const {
    const float* weights = work.weights +
                           static_cast<int64_t>(tap) * work.group_inputs * work.padded_outputs +
                           share.element;
    float inputs[4] = {};
    float factors[4];
    if constexpr (is_depthwise) {
      if (in != nullptr) LoadQuad(thread, in + share.element, 1, share.count, inputs);
      LoadQuad(thread, weights, 1, 4, factors);
      AddProducts(inputs, factors, sums);
    } else {
      int first_inputs[4];
      CACHEINF_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int channel = share.element + (i < share.count ? i : 0);
        first_inputs[i] = channel / work.group_outputs * work.group_inputs;
      }
      for (int ci = 0; ci < work.group_inputs; ++ci) {
        if (in != nullptr) {
          CACHEINF_UNROLL
          for (int i = 0; i < 4; ++i) inputs[i] = thread.Load(in + first_inputs[i] + ci);
        }
        LoadQuad(thread, weights, 1, 4, factors);
        AddProducts(inputs, factors, sums);
        weights += work.padded_outputs;
      }
    }
  }

  CACHEINF_KERNEL static void AddProducts(const float (&inputs)[4], const float (&factors)[4],
                                          float (&sums)[4]) {
    CACHEINF_UNROLL
    for (int i = 0; i < 4; ++i) sums[i] = Fma(inputs[i], factors[i], sums[i]);
  }
};

// One precision's kernels for few output channels, for up to 64, and for more. In the first two a
// block computes all channels of a pixel, if there are no groups, and so can take a change test.
template <Precision precision>
struct ConvGemms {
  using Small = MatrixTile<precision, 2, 1, 2>;
  using Narrow = ConvGemm<MatrixTile<precision, 1, 2, 4>, Small>;
  using Middle = ConvGemm<MatrixTile<precision, 1, 2, 8>, MatrixTile<precision, 4, 1, 2>>;
  using Wide = ConvGemm<MatrixTile<precision, 1, 2, 8>, Small>;
};
template <>
struct ConvGemms<Precision::kExact> {
  using Small = FmaTile<2, 4>;
  using Narrow = ConvGemm<FmaTile<8, 4>, Small>;
  // With the test, three blocks at once would spill registers.
  using Middle = ConvGemm<FmaTile<8, 8>, FmaTile<1, 8>, 2>;
  using Wide = ConvGemm<FmaTile<8, 8>, Small>;
};

// The same by warpgroup instructions, for devices that have them (DeviceFacts). No GPU has run them
// yet: on the stand-in they give the bits of those above, on a GPU they may give others. So only
// precision and device decide which of the two a convolution takes.
template <Precision precision>
struct WarpgroupGemms {
  using Narrow = ConvGemm<WarpgroupTile<precision, 2, 4>, WarpgroupTile<precision, 1, 4>>;
  using Middle = ConvGemm<WarpgroupTile<precision, 2, 8>, WarpgroupTile<precision, 1, 8>>;
  using Wide = Middle;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_KERNELS_H_
