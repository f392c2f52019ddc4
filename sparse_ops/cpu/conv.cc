#include "sparse_ops/cpu/conv.h"

#include <algorithm>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/change_test.h"

namespace cacheinf {
namespace cpu {
namespace {

// While the weights stay in the second-level cache, a list of pixels is taken through all output
// channels before the next; larger ones are read once for all pixels.
constexpr size_t kCachedWeightBytes = 512 * 1024;

// Below so many multiply-adds waking a second thread costs more than it brings.
constexpr int64_t kParallelWork = 100'000;
constexpr int kItemsPerThread = 4;

// One thread computes so many pixels before it compares them with the stored ones; more where
// weights would be read anew for every few of them.
constexpr int kPixelsOnStage = 4 * kListPixels;
constexpr int kPixelsOnStageOfLargeWeights = 10 * kListPixels;
constexpr size_t kStageGrain = 16;  // floats; keeps every pixel on the stage aligned

int DivideUp(int a, int b) { return (a + b - 1) / b; }

// The number of i >= 0 with first + i step < limit.
int StepsBelow(int limit, int first, int step) {
  return limit > first ? DivideUp(limit - first, step) : 0;
}

// Part `index` of `parts` equal ones of [0, size), in multiples of `grain`.
Range Part(int size, int grain, int index, int parts) {
  const int64_t grains = DivideUp(size, grain);
  const int64_t begin = grains * index / parts * grain;
  const int64_t end = grains * (index + 1) / parts * grain;
  return {static_cast<int>(begin), static_cast<int>(std::min<int64_t>(end, size))};
}

// The tap of one axis that kernel index k is for output index `phase`, as an offset from the input
// index that phase + 0 steps stands at; false if there is none.
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

// The old value that a new one will be compared with, fetched while the new one is computed.
void PrefetchPixel(const float* pixel, int channels) {
  constexpr int kLineFloats = 16;
  for (int c = 0; c < channels; c += kLineFloats) __builtin_prefetch(pixel + c, /*write=*/1);
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

struct Conv::Frame {
  ConstImageView input;
  ConstImageView residual;
  ImageView output;
  ActiveRuns runs;
};

// In the output; or on a stage, where pixels stand by their numbers.
struct Conv::Place {
  float* stage = nullptr;
  int first_number = 0;
};

struct Conv::WorkItem {
  const Phase* phase;
  Range pixels;  // by the numbers of Frame::runs; those of other phases among them do not count
  Range blocks;
};

// Output pixels on their way to the kernels.
struct Conv::List {
  const float** inputs;  // [tap][kListPixels]
  int count = 0;
  InputPixel anchors[kListPixels];
  float* outputs[kListPixels];
  const float* residuals[kListPixels];
};

Conv::Conv(const ConvArgs& args)
    : kernels_(ChoosePixelKernels()),
      in_channels_(args.input.channels),
      out_channels_(args.output.channels),
      is_depthwise_(args.spec.groups == in_channels_ && args.spec.groups == out_channels_),
      zeros_(static_cast<size_t>(in_channels_)),
      epilogue_{args.activation.function, ChooseFunction(args.activation.function.kind),
                args.activation.slopes == nullptr ? nullptr : ChoosePRelu(),
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
  phases_.push_back(std::move(phase));
}

void Conv::PackBlocks(const ConvArgs& args, const std::vector<int>& kernel_taps, Phase& phase) {
  const int groups = args.spec.groups;
  const int inputs = in_channels_ / groups;
  const int outputs = out_channels_ / groups;
  const int vectors = DivideUp(outputs, kernels_.lanes);
  const int blocks = DivideUp(vectors, kernels_.max_vectors);
  const size_t padded_outputs = static_cast<size_t>(groups) * vectors * kernels_.lanes;
  const bool is_first = bias_.empty() && slopes_.empty();
  phase.weights = AlignedFloats(padded_outputs * inputs * kernel_taps.size());
  if (is_first && args.bias != nullptr) bias_ = AlignedFloats(padded_outputs);
  if (is_first && args.activation.slopes != nullptr) {
    slopes_ = AlignedFloats(padded_outputs);
  }

  phase.weights_stay_cached =
      padded_outputs * inputs * kernel_taps.size() * sizeof(float) <= kCachedWeightBytes;

  float* weights = phase.weights.data();
  size_t padded = 0;
  for (int group = 0; group < groups; ++group) {
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

int Conv::BlockCount() const {
  return is_depthwise_ ? 1 : static_cast<int>(phases_[0].blocks.size());
}

int Conv::PixelsOnStage() const {
  return phases_[0].weights_stay_cached ? kPixelsOnStage : kPixelsOnStageOfLargeWeights;
}

size_t Conv::FloatsOnStage() const {
  return (static_cast<size_t>(out_channels_) + kStageGrain - 1) / kStageGrain * kStageGrain;
}

size_t Conv::TapFloats() const {
  size_t taps = 0;
  for (const Phase& phase : phases_) taps = std::max(taps, phase.taps.size());
  return taps * kListPixels * sizeof(float*) / sizeof(float);
}

size_t Conv::ScratchFloats(int threads) const { return TapFloats() * static_cast<size_t>(threads); }

size_t Conv::ScratchFloatsWithTest(int threads) const {
  const size_t stage = static_cast<size_t>(PixelsOnStage()) * FloatsOnStage();
  return ScratchFloats(threads) + stage * static_cast<size_t>(threads);
}

Conv::Shares Conv::SharesOf(int pixels, int threads) const {
  const int pixels_of_phase = DivideUp(pixels, static_cast<int>(phases_.size()));
  const int blocks = BlockCount();
  const int64_t work = int64_t{pixels_of_phase} * static_cast<int64_t>(phases_[0].taps.size()) *
                       out_channels_ * (is_depthwise_ ? 1 : phases_[0].blocks[0].inputs);
  const int wanted = threads == 1 || work < kParallelWork ? 1 : threads * kItemsPerThread;
  const int lists = DivideUp(pixels_of_phase, kListPixels);
  if (!phases_[0].weights_stay_cached) {
    const int block_parts = std::min(blocks, wanted);
    return {std::min(lists, DivideUp(wanted, block_parts)), block_parts};
  }
  const int pixel_parts = std::min(wanted, lists);
  return {pixel_parts, std::min(blocks, DivideUp(wanted, std::max(pixel_parts, 1)))};
}

void Conv::Run(const ConstImageView& input, const ConstImageView& residual, const ImageView& output,
               const ActivePixels& pixels, const ChangeTest* test, ThreadPool& pool,
               float* scratch) const {
  const Frame frame = {input, residual, output, ActiveRuns(pixels, output.batch, output.width)};
  if (test == nullptr) {
    RunShared(frame, {0, frame.runs.count()}, Place(), pool, scratch);
  } else {
    RunTested(frame, *test, pool, scratch, scratch + ScratchFloats(pool.threads()));
  }
}

void Conv::RunShared(const Frame& frame, Range pixels, const Place& place, ThreadPool& pool,
                     float* taps) const {
  const Shares shares = SharesOf(pixels.size(), pool.threads());
  const int parts = shares.pixels * shares.blocks;
  const int phases = static_cast<int>(phases_.size());
  const int grain = kListPixels * phases;
  pool.ParallelFor(parts * phases, [&](int index, int thread) {
    const int part = index % parts;
    const Range part_pixels = Part(pixels.size(), grain, part % shares.pixels, shares.pixels);
    const WorkItem item = {&phases_[static_cast<size_t>(index / parts)],
                           {pixels.begin + part_pixels.begin, pixels.begin + part_pixels.end},
                           Part(BlockCount(), 1, part / shares.pixels, shares.blocks)};
    RunItem(frame, item, place,
            reinterpret_cast<const float**>(taps + static_cast<size_t>(thread) * TapFloats()));
  });
}

void Conv::RunTested(const Frame& frame, const ChangeTest& test, ThreadPool& pool, float* taps,
                     float* stage) const {
  const PixelTest pixel_test(test, out_channels_);
  const Range all = {0, frame.runs.count()};
  const Shares shares = SharesOf(all.size(), pool.threads());
  if (shares.blocks == 1 && phases_[0].weights_stay_cached) {
    // Every thread has a stage of its own.
    const size_t stage_floats = static_cast<size_t>(PixelsOnStage()) * FloatsOnStage();
    pool.ParallelFor(shares.pixels, [&](int part, int thread) {
      const auto own_taps =
          reinterpret_cast<const float**>(taps + static_cast<size_t>(thread) * TapFloats());
      float* const own_stage = stage + static_cast<size_t>(thread) * stage_floats;
      Range left = Part(all.size(), PixelsOnStage(), part, shares.pixels);
      for (; !left.empty(); left.begin += PixelsOnStage()) {
        const Range pixels = {left.begin, std::min(left.end, left.begin + PixelsOnStage())};
        const Place place = {own_stage, pixels.begin};
        for (const Phase& phase : phases_) {
          RunItem(frame, {&phase, pixels, {0, BlockCount()}}, place, own_taps);
        }
        StoreChanged(frame, pixel_test, pixels, place);
      }
    });
    return;
  }
  // All threads share one, so that they may share out the weights.
  const int pixels_on_stage = PixelsOnStage() * pool.threads();
  for (Range left = all; !left.empty(); left.begin += pixels_on_stage) {
    const Range pixels = {left.begin, std::min(left.end, left.begin + pixels_on_stage)};
    const Place place = {stage, pixels.begin};
    RunShared(frame, pixels, place, pool, taps);
    pool.ParallelFor(pool.threads(), [&](int part, int) {
      const Range own = Part(pixels.size(), 1, part, pool.threads());
      StoreChanged(frame, pixel_test, {pixels.begin + own.begin, pixels.begin + own.end}, place);
    });
  }
}

void Conv::StoreChanged(const Frame& frame, const PixelTest& test, Range pixels,
                        const Place& place) const {
  frame.runs.ForEachPixelIn(pixels, [&](int image, int y, int x, int number) {
    const auto on_stage = static_cast<size_t>(number - place.first_number) * FloatsOnStage();
    test.StoreIfChanged(place.stage + on_stage, frame.output.Pixel(image, y, x), number);
  });
}

void Conv::RunItem(const Frame& frame, const WorkItem& item, const Place& place,
                   const float** taps) const {
  const int blocks_at_once = item.phase->weights_stay_cached ? item.blocks.size() : 1;
  List list;
  list.inputs = taps;
  for (int block = item.blocks.begin; block < item.blocks.end; block += blocks_at_once) {
    const WorkItem part = {item.phase, item.pixels, {block, block + blocks_at_once}};
    frame.runs.ForEachIn(item.pixels, [&](int image, const PixelRun& run, int number) {
      AddRun(frame, part, place, image, run, number, list);
    });
    RunList(frame, part, list);
  }
}

void Conv::AddRun(const Frame& frame, const WorkItem& item, const Place& place, int image,
                  const PixelRun& run, int number, List& list) const {
  const Phase& phase = *item.phase;
  if (run.row % step_rows_ != phase.first_row) return;
  const int anchor_row = run.row / step_rows_ * in_step_rows_;
  float* first_output = frame.output.Pixel(image, run.row, run.begin);
  int64_t stride = frame.output.pixel_stride;
  if (place.stage != nullptr) {
    stride = static_cast<int64_t>(FloatsOnStage());
    first_output = place.stage + (number - place.first_number) * stride;
  }
  const int end = StepsBelow(run.end, phase.first_column, step_columns_);
  for (int i = StepsBelow(run.begin, phase.first_column, step_columns_); i < end;) {
    const int added = std::min(end - i, kListPixels - list.count);
    for (const int full = list.count + added; list.count < full; ++list.count, ++i) {
      const int column = phase.first_column + i * step_columns_;
      list.anchors[list.count] = {image, anchor_row, i * in_step_columns_};
      list.outputs[list.count] = first_output + (column - run.begin) * stride;
      if (place.stage != nullptr) {
        PrefetchPixel(frame.output.Pixel(image, run.row, column), out_channels_);
      }
      if (frame.residual.data != nullptr) {
        list.residuals[list.count] = frame.residual.Pixel(image, run.row, column);
      }
    }
    if (list.count == kListPixels) RunList(frame, item, list);
  }
}

void Conv::RunList(const Frame& frame, const WorkItem& item, List& list) const {
  if (list.count == 0) return;
  const Phase& phase = *item.phase;
  FillTaps(frame.input, phase, list.anchors, list.count, list.inputs);
  const PixelList pixels = {list.count, static_cast<int>(phase.taps.size()), list.inputs,
                            list.outputs,
                            frame.residual.data == nullptr ? nullptr : list.residuals};
  list.count = 0;
  if (is_depthwise_) return kernels_.depthwise(phase.depthwise, pixels);
  for (int b = item.blocks.begin; b < item.blocks.end; ++b) {
    kernels_.conv(phase.blocks[static_cast<size_t>(b)], pixels);
  }
}

void Conv::FillTaps(const ConstImageView& input, const Phase& phase, const InputPixel* anchors,
                    int count, const float** inputs) const {
  // Addresses, not pointers: those of a border pixel may lie outside the picture.
  uintptr_t centres[kListPixels];
  int border[kListPixels];
  int border_count = 0;
  for (int p = 0; p < kListPixels; ++p) {
    const InputPixel& anchor = anchors[std::min(p, count - 1)];
    centres[p] = reinterpret_cast<uintptr_t>(input.data) +
                 sizeof(float) * static_cast<uintptr_t>(anchor.image * input.batch_stride +
                                                        anchor.row * input.row_stride +
                                                        anchor.column * input.pixel_stride);
    const bool is_inside = anchor.row + phase.smallest.row >= 0 &&
                           anchor.row + phase.largest.row < input.height &&
                           anchor.column + phase.smallest.column >= 0 &&
                           anchor.column + phase.largest.column < input.width;
    if (!is_inside) border[border_count++] = p;
  }
  for (size_t t = 0; t < phase.taps.size(); ++t) {
    const uintptr_t offset =
        sizeof(float) * static_cast<uintptr_t>(phase.taps[t].row * input.row_stride +
                                               phase.taps[t].column * input.pixel_stride);
    const float** tap_inputs = inputs + t * kListPixels;
    for (int p = 0; p < kListPixels; ++p) {
      tap_inputs[p] = reinterpret_cast<const float*>(centres[p] + offset);
    }
    for (int b = 0; b < border_count; ++b) {
      const int p = border[b];
      const InputPixel& anchor = anchors[std::min(p, count - 1)];
      const int row = anchor.row + phase.taps[t].row;
      const int column = anchor.column + phase.taps[t].column;
      const bool is_inside = row >= 0 && row < input.height && column >= 0 && column < input.width;
      if (!is_inside) tap_inputs[p] = zeros_.data();
    }
  }
}

}  // namespace cpu
}  // namespace cacheinf
