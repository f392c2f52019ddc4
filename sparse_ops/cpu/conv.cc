#include "sparse_ops/cpu/conv.h"

#include <algorithm>
#include <cmath>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/change_test.h"

namespace cacheinf {
namespace cpu {
namespace {

// While the weights stay in the second-level cache, a list of pixels is taken through all output
// channels before the next. Larger ones are taken block by block, which are narrow enough for their
// weights to stay there, through at least so many pixels, or so many that their input stays as
// well.
constexpr size_t kCachedWeightBytes = 512 * 1024;
constexpr size_t kCachedBlockBytes = 1280 * 1024;
constexpr int64_t kCachedInputBytes = 1024 * 1024;
constexpr int kPixelsOfLargeWeights = 10 * kListPixels;

// Below so many multiply-adds waking a second thread costs more than it brings.
constexpr int64_t kParallelWork = 100'000;
constexpr int kItemsPerThread = 4;

// Pixels of a convolution with at most so many multiply-adds for each are not put on lists where as
// many as on a list lie side by side.
constexpr size_t kLittleWork = 8192;

// Pixels with so many multiply-adds a tap are worth sorting by the taps that lie inside the
// picture.
constexpr size_t kMuchWorkOfTap = 1024;
constexpr size_t kMostTapsSorted = 64;

// For so few input channels, the taps of a row are taken together where their pixels lie end to
// end.
constexpr int kFewChannels = 8;

// One thread computes so many pixels before it compares them with the stored ones; where weights
// are large, as many as they are read for.
constexpr int kPixelsOnStage = 4 * kListPixels;
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

// In the output, or on a stage. What is kept of pixels stands there by their numbers.
struct Conv::Place {
  float* stage = nullptr;  // [pixel][FloatsOnStage]; null: in the output
  int first_number = 0;    // of the pixels that something is kept of

  // How the kernels look for changes, if they do.
  uint8_t* changed = nullptr;  // [number], or null: becomes 1 if any bit of the output changes
  const float* inverse_spread = nullptr;  // or null: of ChangeTest, to compare pixels
  float* old_values = nullptr;            // then: [pixel][FloatsOnStage]
  float* squares = nullptr;               // then: [pixel][kChangeLanes]

  ComparedPixel Compared(int number, size_t floats_of_pixel) const {
    const auto index = static_cast<size_t>(number - first_number);
    return {old_values + index * floats_of_pixel, squares + index * kChangeLanes};
  }
};

struct Conv::WorkItem {
  const Phase* phase;
  Range pixels;  // by the numbers of Frame::runs; those of other phases among them do not count
  Range blocks;
};

// Pixels side by side in a phase's grid, of one row of the output.
struct Conv::Span {
  int image;
  int row;
  Range columns;      // of the grid
  int64_t first = 0;  // the output's column that is written to `output`
  float* output;
  int64_t output_step;  // from one of the output's columns to the next
  const Place* place;
  int number;  // of column `first`
};

// Weights of the block that comes next, fetched in as many equal parts as there are lists.
struct Conv::NextWeights {
  const float* next = nullptr;
  const float* end = nullptr;
  int64_t floats_of_list = 0;

  FetchAhead Next() {
    const FetchAhead part = {next, next + std::min<int64_t>(floats_of_list, end - next)};
    next = part.end;
    return part;
  }
};

// Output pixels on their way to the kernels.
struct Conv::List {
  const float** inputs;      // [tap][kListPixels]
  int* weight_taps;          // [tap]: which of the phase's it is
  uint64_t taps_inside = 0;  // of all its pixels, if the phase groups by them
  float* patches;            // [row of taps][kListPixels][numbers under it], for border pixels
  int count = 0;
  // Addresses, not pointers: those of a border pixel may lie outside the picture.
  uintptr_t anchors[kListPixels] = {};
  float* outputs[kListPixels];
  const float* residuals[kListPixels];
  uint8_t* changed[kListPixels];
  ComparedPixel compared[kListPixels];
  const Place* place;
  int border_count = 0;
  BorderPixel border[kListPixels];
  NextWeights ahead;
};

Conv::Conv(const ConvArgs& args)
    : kernels_(ChoosePixelKernels()),
      in_channels_(args.input.channels),
      out_channels_(args.output.channels),
      is_depthwise_(args.spec.groups == in_channels_ && args.spec.groups == out_channels_),
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
  ChooseTapsToSkip(args, phase);
  if (CanTakeRowsOfTaps(spec)) {
    // The taps of a row, one after the other, are one tap of more channels.
    phase.row_blocks = phase.blocks;
    for (ConvBlock& block : phase.row_blocks) block.inputs *= phase.tap_columns;
    zeros_.resize(static_cast<size_t>(phase.tap_columns) * in_channels_);
  }
  phases_.push_back(std::move(phase));
}

// Outside the picture x is +0: there a finite weight turns a sum at most from -0 to +0, and of that
// a bias other than -0 leaves nothing.
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
  return !spec.transposed && spec.groups == 1 && spec.columns.dilation == 1 &&
         spec.columns.kernel > 1 && in_channels_ <= kFewChannels;
}

void Conv::PackBlocks(const ConvArgs& args, const std::vector<int>& kernel_taps, Phase& phase) {
  const int groups = args.spec.groups;
  const int inputs = in_channels_ / groups;
  const int outputs = out_channels_ / groups;
  const int vectors = DivideUp(outputs, kernels_.lanes);
  // Of all phases together, so that they have the same blocks.
  const size_t vector_bytes = static_cast<size_t>(kernels_.lanes) * inputs * args.spec.rows.kernel *
                              args.spec.columns.kernel * sizeof(float);
  const int cached_vectors =
      static_cast<int>(std::max(kCachedBlockBytes / vector_bytes, size_t{1}));
  const int blocks = DivideUp(vectors, std::min(kernels_.max_vectors, cached_vectors));
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
  return phases_[0].weights_stay_cached ? kPixelsOnStage : kPixelsOfLargeWeights;
}

size_t Conv::FloatsOnStage() const {
  return (static_cast<size_t>(out_channels_) + kStageGrain - 1) / kStageGrain * kStageGrain;
}

size_t Conv::PointerFloats() const {
  size_t floats_of_pixel = 0;
  for (const Phase& phase : phases_) {
    const size_t pointers = phase.taps.size() * sizeof(float*) / sizeof(float);
    const size_t patch =
        phase.row_blocks.empty() ? 0 : phase.taps.size() * static_cast<size_t>(in_channels_);
    floats_of_pixel = std::max(floats_of_pixel, pointers + patch);
  }
  return floats_of_pixel * kListPixels;
}

size_t Conv::TapFloats() const {
  size_t most_taps = 0;
  for (const Phase& phase : phases_) most_taps = std::max(most_taps, phase.taps.size());
  // Those of all threads are aligned.
  return (PointerFloats() + most_taps + kStageGrain - 1) / kStageGrain * kStageGrain;
}

size_t Conv::ScratchFloats(int threads) const { return TapFloats() * static_cast<size_t>(threads); }

size_t Conv::StageFloats() const {
  return static_cast<size_t>(PixelsOnStage()) * (FloatsOnStage() + kChangeLanes);
}

size_t Conv::ScratchFloatsWithTest(int threads) const {
  return ScratchFloats(threads) + StageFloats() * static_cast<size_t>(threads);
}

Conv::Shares Conv::SharesOf(int pixels, int threads) const {
  const int phases = static_cast<int>(phases_.size());
  const int pixels_of_phase = DivideUp(pixels, phases);
  const int blocks = BlockCount();
  const int64_t work = int64_t{pixels_of_phase} * static_cast<int64_t>(phases_[0].taps.size()) *
                       out_channels_ * (is_depthwise_ ? 1 : phases_[0].blocks[0].inputs);
  // Every phase is cut: fewer parts of each will do.
  const int parts = std::max(threads, DivideUp(threads * kItemsPerThread, phases));
  const int wanted = threads == 1 || work < kParallelWork ? 1 : parts;
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
  const Range all = {0, frame.runs.count()};
  if (test.threshold == 0.0f) {
    // A pixel keeps its bits or changes, whoever writes which of its channels.
    std::fill_n(test.changed, all.size(), uint8_t{0});
    Place place;
    place.changed = test.changed;
    return RunShared(frame, all, place, pool, taps);
  }
  const Shares shares = SharesOf(all.size(), pool.threads());
  const bool blocks_are_whole_lanes = is_depthwise_ || phases_[0].blocks[0].inputs == in_channels_;
  if (shares.blocks == 1 && blocks_are_whole_lanes) {
    pool.ParallelFor(shares.pixels, [&](int part, int thread) {
      const auto own_taps =
          reinterpret_cast<const float**>(taps + static_cast<size_t>(thread) * TapFloats());
      float* const own_stage = stage + static_cast<size_t>(thread) * StageFloats();
      Range left = Part(all.size(), PixelsOnStage(), part, shares.pixels);
      for (; !left.empty(); left.begin += PixelsOnStage()) {
        const Range pixels = {left.begin, std::min(left.end, left.begin + PixelsOnStage())};
        RunCompared(frame, test, pixels, own_taps, own_stage);
      }
    });
    return;
  }
  // All threads share one stage, so that they may share out the weights.
  const PixelTest pixel_test(test, out_channels_);
  const int pixels_on_stage = PixelsOnStage() * pool.threads();
  for (Range left = all; !left.empty(); left.begin += pixels_on_stage) {
    const Range pixels = {left.begin, std::min(left.end, left.begin + pixels_on_stage)};
    Place place;
    place.stage = stage;
    place.first_number = pixels.begin;
    RunShared(frame, pixels, place, pool, taps);
    pool.ParallelFor(pool.threads(), [&](int part, int) {
      const Range own = Part(pixels.size(), 1, part, pool.threads());
      StoreChanged(frame, pixel_test, {pixels.begin + own.begin, pixels.begin + own.end}, place);
    });
  }
}

void Conv::RunCompared(const Frame& frame, const ChangeTest& test, Range pixels, const float** taps,
                       float* stage) const {
  Place place;
  place.first_number = pixels.begin;
  place.inverse_spread = test.inverse_spread;
  place.old_values = stage;
  place.squares = stage + static_cast<size_t>(PixelsOnStage()) * FloatsOnStage();
  std::fill_n(place.squares, pixels.size() * kChangeLanes, 0.0f);
  for (const Phase& phase : phases_) {
    RunItem(frame, {&phase, pixels, {0, BlockCount()}}, place, taps);
  }
  const ChangeKernels& kernels = ChooseChangeKernels();
  uint8_t* const changed = test.changed + pixels.begin;
  kernels.judge(test, place.squares, pixels.size(), out_channels_, changed);
  const auto step = static_cast<int64_t>(FloatsOnStage());
  frame.runs.ForEachIn(pixels, [&](int image, const PixelRun& run, int number) {
    const int first = number - pixels.begin;
    kernels.copy(changed + first, 0, {place.old_values + first * step, step},
                 {frame.output.Pixel(image, run.row, run.begin), frame.output.pixel_stride},
                 run.end - run.begin, out_channels_);
  });
}

void Conv::StoreChanged(const Frame& frame, const PixelTest& test, Range pixels,
                        const Place& place) const {
  const auto step = static_cast<int64_t>(FloatsOnStage());
  frame.runs.ForEachIn(pixels, [&](int image, const PixelRun& run, int number) {
    test.StoreIfChanged({place.stage + (number - place.first_number) * step, step},
                        {frame.output.Pixel(image, run.row, run.begin), frame.output.pixel_stride},
                        run.end - run.begin, number);
  });
}

// Either the blocks read all input anew, or parts of the pixels all weights: what moves less
// memory.
int Conv::PixelsAtOnce(const WorkItem& item) const {
  const Phase& phase = *item.phase;
  if (phase.weights_stay_cached) return item.pixels.size();
  const ConvBlock& block = phase.blocks[0];
  const int64_t input_bytes =
      int64_t{sizeof(float)} * block.inputs * in_step_rows_ * in_step_columns_;  // under a pixel
  const int pixels =
      std::max(static_cast<int>(kCachedInputBytes / input_bytes), kPixelsOfLargeWeights);
  const int64_t block_bytes = int64_t{sizeof(float)} * static_cast<int64_t>(phase.taps.size()) *
                              block.inputs * block.vectors * kernels_.lanes;
  const int parts = DivideUp(item.pixels.size(), pixels);
  const int blocks_of_group = BlockCount() * block.inputs / in_channels_;
  const int64_t weights_anew = block_bytes * item.blocks.size() * (parts - 1);
  const int64_t input_anew = input_bytes * item.pixels.size() * item.blocks.size() *
                             (blocks_of_group - 1) / blocks_of_group;
  return input_anew < weights_anew ? item.pixels.size() : pixels;
}

Conv::NextWeights Conv::WeightsOf(const Phase& phase, int block, int pixels) const {
  const ConvBlock& next = phase.blocks[static_cast<size_t>(block)];
  const int64_t floats =
      static_cast<int64_t>(phase.taps.size()) * next.inputs * next.vectors * kernels_.lanes;
  return {next.weights, next.weights + floats, floats / DivideUp(pixels, kListPixels) + 1};
}

void Conv::RunItem(const Frame& frame, const WorkItem& item, const Place& place,
                   const float** taps) const {
  List list;
  list.place = &place;
  list.inputs = taps;
  list.patches = reinterpret_cast<float*>(taps + item.phase->taps.size() * kListPixels);
  list.weight_taps = reinterpret_cast<int*>(reinterpret_cast<float*>(taps) + PointerFloats());
  const int blocks_at_once = item.phase->weights_stay_cached ? item.blocks.size() : 1;
  const int pixels_at_once = PixelsAtOnce(item);
  for (int first = item.pixels.begin; first < item.pixels.end; first += pixels_at_once) {
    const Range pixels = {first, std::min(item.pixels.end, first + pixels_at_once)};
    for (int block = item.blocks.begin; block < item.blocks.end; block += blocks_at_once) {
      if (!item.phase->weights_stay_cached) {
        const bool is_last = block + 1 == item.blocks.end;
        list.ahead = WeightsOf(*item.phase, is_last ? item.blocks.begin : block + 1, pixels.size());
      }
      const WorkItem part = {item.phase, pixels, {block, block + blocks_at_once}};
      frame.runs.ForEachIn(pixels, [&](int image, const PixelRun& run, int number) {
        AddRun(frame, part, place, image, run, number, list);
      });
      RunList(frame, part, list);
    }
  }
}

void Conv::AddRun(const Frame& frame, const WorkItem& item, const Place& place, int image,
                  const PixelRun& run, int number, List& list) const {
  const Phase& phase = *item.phase;
  if (run.row % step_rows_ != phase.first_row) return;
  Span span = {image,
               run.row,
               {StepsBelow(run.begin, phase.first_column, step_columns_),
                StepsBelow(run.end, phase.first_column, step_columns_)},
               run.begin,
               frame.output.Pixel(image, run.row, run.begin),
               frame.output.pixel_stride,
               &place,
               number};
  if (place.stage != nullptr) {
    span.output_step = static_cast<int64_t>(FloatsOnStage());
    span.output = place.stage + (number - place.first_number) * span.output_step;
    for (int x = run.begin; x < run.end; ++x) {
      PrefetchPixel(frame.output.Pixel(image, run.row, x), out_channels_);
    }
  }
  const Range whole = span.columns;
  const Range middle = ColumnsOfRow(frame.input, phase, whole);
  if (middle.empty()) return AddSpan(frame, item, span, list);
  span.columns = {whole.begin, middle.begin};
  AddSpan(frame, item, span, list);
  span.columns = middle;
  RunRow(frame, item, span);
  span.columns = {middle.end, whole.end};
  AddSpan(frame, item, span, list);
}

Range Conv::ColumnsOfRow(const ConstImageView& input, const Phase& phase, Range columns) const {
  if (!phase.takes_rows) return {columns.begin, columns.begin};
  const Range inside = InsideColumns(input, phase);
  const int begin = std::clamp(inside.begin, columns.begin, columns.end);
  int count = std::max(std::min(inside.end, columns.end) - begin, 0);
  if (!is_depthwise_) count -= count % kListPixels;
  return {begin, begin + count};
}

Range Conv::InsideColumns(const ConstImageView& input, const Phase& phase) const {
  const int begin =
      phase.smallest.column < 0 ? DivideUp(-phase.smallest.column, in_step_columns_) : 0;
  return {begin, StepsBelow(input.width, phase.largest.column, in_step_columns_)};
}

void Conv::AddSpan(const Frame& frame, const WorkItem& item, const Span& span, List& list) const {
  const Phase& phase = *item.phase;
  const ConstImageView& input = frame.input;
  const int anchor_row = span.row / step_rows_ * in_step_rows_;
  const bool rows_are_inside =
      anchor_row + phase.smallest.row >= 0 && anchor_row + phase.largest.row < input.height;
  const Range inside = rows_are_inside ? InsideColumns(input, phase) : Range();
  const int64_t row_offset = span.image * input.batch_stride + anchor_row * input.row_stride;
  for (int i = span.columns.begin; i < span.columns.end;) {
    const int end = std::min(span.columns.end, i + kListPixels - list.count);
    for (; i < end; ++i, ++list.count) {
      const int column = phase.first_column + i * step_columns_;
      const int anchor_column = i * in_step_columns_;
      if (phase.groups_by_taps) {
        const uint64_t inside_taps = TapsInside(input, phase, {anchor_row, anchor_column});
        if (list.count != 0 && list.taps_inside != inside_taps) break;
        list.taps_inside = inside_taps;
      }
      list.anchors[list.count] =
          reinterpret_cast<uintptr_t>(input.data) +
          sizeof(float) * static_cast<uintptr_t>(row_offset + anchor_column * input.pixel_stride);
      list.outputs[list.count] = span.output + (column - span.first) * span.output_step;
      if (frame.residual.data != nullptr) {
        list.residuals[list.count] = frame.residual.Pixel(span.image, span.row, column);
      }
      const int number = span.number + static_cast<int>(column - span.first);
      if (span.place->changed != nullptr) {
        list.changed[list.count] = span.place->changed + number;
      }
      if (span.place->inverse_spread != nullptr) {
        list.compared[list.count] = span.place->Compared(number, FloatsOnStage());
      }
      if (i < inside.begin || i >= inside.end) {
        list.border[list.border_count++] = {list.count, span.image, anchor_row, anchor_column};
      }
    }
    // Full, or the next pixel has other taps.
    if (list.count == kListPixels || i < end) RunList(frame, item, list);
  }
}

uint64_t Conv::TapsInside(const ConstImageView& input, const Phase& phase, const Tap& anchor) {
  uint64_t inside = 0;
  for (size_t t = 0; t < phase.taps.size(); ++t) {
    const int row = anchor.row + phase.taps[t].row;
    const int column = anchor.column + phase.taps[t].column;
    const bool is_inside = row >= 0 && row < input.height && column >= 0 && column < input.width;
    inside |= uint64_t{is_inside} << t;
  }
  return inside;
}

void Conv::RunRow(const Frame& frame, const WorkItem& item, const Span& span) const {
  const Phase& phase = *item.phase;
  const ConstImageView& input = frame.input;
  const bool by_rows = TakesRowsOfTaps(input, phase);
  const int tap_rows = static_cast<int>(phase.taps.size()) / phase.tap_columns;
  const auto row_of_tap = [&](int y) {
    return span.row * in_step_rows_ + phase.taps[static_cast<size_t>(y * phase.tap_columns)].row;
  };
  Range inside = {0, tap_rows};
  while (!inside.empty() && row_of_tap(inside.begin) < 0) ++inside.begin;
  while (!inside.empty() && row_of_tap(inside.end - 1) >= input.height) --inside.end;
  PixelRow row;
  row.count = span.columns.size();
  row.tap_rows = tap_rows;
  row.tap_columns = by_rows ? 1 : phase.tap_columns;
  row.rows_inside = inside;
  if (!inside.empty()) {
    row.first = input.Pixel(span.image, row_of_tap(inside.begin),
                            span.columns.begin * in_step_columns_ + phase.taps[0].column);
  }
  row.row_step = row_dilation_ * input.row_stride;
  row.column_step = column_dilation_ * input.pixel_stride;
  row.pixel_step = in_step_columns_ * input.pixel_stride;
  row.zeros = zeros_.data();
  row.output = span.output + (span.columns.begin - span.first) * span.output_step;
  row.output_step = span.output_step;
  if (frame.residual.data != nullptr) {
    row.residual = frame.residual.Pixel(span.image, span.row, span.columns.begin);
    row.residual_step = frame.residual.pixel_stride;
  }
  const int number = span.number + static_cast<int>(span.columns.begin - span.first);
  const Place& place = *span.place;
  if (place.changed != nullptr) row.changed = place.changed + number;
  if (place.inverse_spread != nullptr) {
    row.inverse_spread = place.inverse_spread;
    row.compared = place.Compared(number, FloatsOnStage());
    row.old_values_step = static_cast<int64_t>(FloatsOnStage());
  }
  if (is_depthwise_) return kernels_.depthwise_row(phase.depthwise, row);
  const std::vector<ConvBlock>& blocks = by_rows ? phase.row_blocks : phase.blocks;
  for (int b = item.blocks.begin; b < item.blocks.end; ++b) {
    kernels_.conv_row(blocks[static_cast<size_t>(b)], row);
  }
}

bool Conv::TakesRowsOfTaps(const ConstImageView& input, const Phase& phase) const {
  return !phase.row_blocks.empty() && input.pixel_stride == in_channels_;
}

void Conv::RunList(const Frame& frame, const WorkItem& item, List& list) const {
  if (list.count == 0) return;
  const Phase& phase = *item.phase;
  const bool by_rows = TakesRowsOfTaps(frame.input, phase);
  int taps = static_cast<int>(phase.taps.size()) / phase.tap_columns;
  if (by_rows) {
    FillRowsOfTaps(frame.input, phase, list);
  } else {
    taps = FillTaps(frame.input, phase, list);
  }
  PixelList pixels;
  pixels.count = list.count;
  pixels.taps = taps;
  pixels.inputs = list.inputs;
  if (!by_rows) pixels.weight_taps = list.weight_taps;
  pixels.outputs = list.outputs;
  if (frame.residual.data != nullptr) pixels.residuals = list.residuals;
  if (list.place->changed != nullptr) pixels.changed = list.changed;
  if (list.place->inverse_spread != nullptr) pixels.compared = list.compared;
  pixels.inverse_spread = list.place->inverse_spread;
  pixels.ahead = list.ahead.Next();
  list.count = 0;
  list.border_count = 0;
  if (is_depthwise_) return kernels_.depthwise(phase.depthwise, pixels);
  const std::vector<ConvBlock>& blocks = by_rows ? phase.row_blocks : phase.blocks;
  for (int b = item.blocks.begin; b < item.blocks.end; ++b) {
    kernels_.conv(blocks[static_cast<size_t>(b)], pixels);
  }
}

const float** Conv::FillTap(const ConstImageView& input, const Tap& tap, const List& list,
                            size_t index) const {
  const uintptr_t offset = sizeof(float) * static_cast<uintptr_t>(tap.row * input.row_stride +
                                                                  tap.column * input.pixel_stride);
  const float** const inputs = list.inputs + index * kListPixels;
  for (int p = 0; p < kListPixels; ++p) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an anchor may lie outside the picture
    inputs[p] = reinterpret_cast<const float*>(list.anchors[p] + offset);
  }
  std::fill(inputs + list.count, inputs + kListPixels, zeros_.data());
  return inputs;
}

int Conv::FillTaps(const ConstImageView& input, const Phase& phase, const List& list) const {
  int taps = 0;
  for (size_t t = 0; t < phase.taps.size(); ++t) {
    const Tap& tap = phase.taps[t];
    const float** const inputs = FillTap(input, tap, list, static_cast<size_t>(taps));
    int outside = 0;
    for (int b = 0; b < list.border_count; ++b) {
      const BorderPixel& pixel = list.border[b];
      const int row = pixel.row + tap.row;
      const int column = pixel.column + tap.column;
      const bool is_inside = row >= 0 && row < input.height && column >= 0 && column < input.width;
      if (is_inside) continue;
      inputs[pixel.index] = zeros_.data();
      ++outside;
    }
    if (phase.skips_taps && outside == list.count) continue;
    list.weight_taps[taps++] = static_cast<int>(t);
  }
  return taps;
}

void Conv::FillRowsOfTaps(const ConstImageView& input, const Phase& phase, const List& list) const {
  const size_t columns = static_cast<size_t>(phase.tap_columns);
  const size_t numbers = columns * static_cast<size_t>(in_channels_);
  for (size_t y = 0; y * columns < phase.taps.size(); ++y) {
    const Tap& tap = phase.taps[y * columns];
    const float** const inputs = FillTap(input, tap, list, y);
    for (int b = 0; b < list.border_count; ++b) {
      const BorderPixel& pixel = list.border[b];
      float* const patch =
          list.patches + (y * kListPixels + static_cast<size_t>(pixel.index)) * numbers;
      std::fill(patch, patch + numbers, 0.0f);
      inputs[pixel.index] = patch;
      const int row = pixel.row + tap.row;
      const int column = pixel.column + tap.column;
      const int begin = std::max(column, 0);
      const int end = std::min(column + phase.tap_columns, input.width);
      if (row < 0 || row >= input.height || begin >= end) continue;
      std::copy_n(input.Pixel(pixel.image, row, begin), (end - begin) * in_channels_,
                  patch + (begin - column) * in_channels_);
    }
  }
}

}  // namespace cpu
}  // namespace cacheinf
