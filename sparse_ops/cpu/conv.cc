#include "sparse_ops/cpu/conv.h"

#include <algorithm>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/change_test.h"
#include "sparse_ops/cpu/parts.h"

namespace cacheinf::cpu {
namespace {

// If weights do not stay in the second-level cache, each block runs through at least this many
// pixels, or as many as keep their input there too.
constexpr int64_t kCachedInputBytes = 1024 * 1024;
constexpr int kPixelsOfLargeWeights = 10 * kListPixels;

// With fewer multiply-adds, waking a second thread costs more than it saves.
constexpr int64_t kParallelWork = 100'000;
constexpr int kItemsPerThread = 4;

// One thread computes this many pixels before it compares them with the stored ones; with large
// weights, as many as the weights are read for.
constexpr int kPixelsOnStage = 4 * kListPixels;
constexpr size_t kStageGrain = 16;  // floats; keeps every pixel on the stage aligned

// Fetches the old value, to be compared with the new one, while the new one is computed.
void PrefetchPixel(const float* pixel, int channels) {
  constexpr int kLineFloats = 16;
  for (int c = 0; c < channels; c += kLineFloats) __builtin_prefetch(pixel + c, /*write=*/1);
}

// Prefetches to the second-level cache.
void PrefetchFloats(const float* begin, int64_t count) {
  constexpr int kLineFloats = 16;
  for (int64_t i = 0; i < count; i += kLineFloats) __builtin_prefetch(begin + i, 0, 2);
}

}  // namespace

struct Conv::Frame {
  ConstImageView input;
  ConstImageView residual;
  ImageView output;
  ActiveRuns runs;
};

// In the output, or on a stage. Data kept for pixels is stored by the pixels' numbers.
struct Conv::Place {
  float* stage = nullptr;  // [pixel][FloatsOnStage]; null: in the output
  int first_number = 0;    // of the pixels for which something is kept

  // How the kernels look for changes, if they do:
  uint8_t* changed = nullptr;  // [number], or null: becomes 1 if any bit of the output changes
  const float* inverse_spread = nullptr;  // or null: of ChangeTest, to compare pixels
  float* old_values = nullptr;            // then: [pixel][FloatsOnStage]
  float* squares = nullptr;               // then: [pixel][kChangeLanes]

  ComparedPixel Compared(int number, size_t floats_of_pixel) const {
    const auto index = static_cast<size_t>(number - first_number);
    return {old_values + index * floats_of_pixel, squares + index * kChangeLanes};
  }
};

struct Conv::BlockOfPhase {
  const Phase* phase = nullptr;  // null: there is none
  int block = 0;
};

struct Conv::WorkItem {
  const Phase* phase;
  Range pixels;  // by the numbers of Frame::runs; pixels of other phases are skipped
  Range blocks;
  BlockOfPhase next;  // with what the same thread will probably start next
};

// Neighbouring pixels of a phase's grid in one row of the output.
struct Conv::Span {
  int image;
  int row;
  Range columns;      // of the grid
  int64_t first = 0;  // column of the output that is written to `output`
  float* output;
  int64_t output_step;  // from one of the output's columns to the next
  const Place* place;
  int number;  // of column `first`
};

// Weights of the next block, fetched in one equal part per list.
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
  int* weight_taps;          // [tap]: its number in the phase
  uint64_t taps_inside = 0;  // of all its pixels, if the phase groups by taps
  float* patches;            // [row of taps][kListPixels][numbers under it], for border pixels
  int count = 0;
  // Addresses, not pointers, because those of a border pixel may lie outside the picture.
  uintptr_t anchors[kListPixels] = {};
  float* outputs[kListPixels];
  const float* residuals[kListPixels];
  uint8_t* changed[kListPixels];
  ComparedPixel compared[kListPixels];
  const Place* place;
  int border_count = 0;
  BorderPixel border[kListPixels];
  NextWeights ahead;        // if weights do not stay cached; otherwise:
  FetchAhead inputs_after;  // fetched while the list is computed
};

int Conv::BlockCount() const {
  return is_depthwise_ ? 1 : static_cast<int>(phases_[0].blocks.size());
}

int Conv::PixelsOnStage() const {
  return phases_[0].weights_stay_cached ? kPixelsOnStage : kPixelsOfLargeWeights;
}

size_t Conv::FloatsOnStage() const {
  return (static_cast<size_t>(out_channels_) + kStageGrain - 1) / kStageGrain * kStageGrain;
}

size_t Conv::MostTaps() const {
  size_t most_taps = 0;
  for (const Phase& phase : phases_) most_taps = std::max(most_taps, phase.taps.size());
  return most_taps;
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
  const size_t floats = PointerFloats() + MostTaps();
  // Keeps the memory of all threads aligned.
  return (floats + kStageGrain - 1) / kStageGrain * kStageGrain;
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
  // Every phase is cut, so fewer parts of each are enough.
  const int parts = std::max(threads, DivideUp(threads * kItemsPerThread, phases));
  const int wanted = threads == 1 || work < kParallelWork ? 1 : parts;
  const int lists = DivideUp(pixels_of_phase, kListPixels);
  if (!phases_[0].weights_stay_cached) {
    // Up to twice the wanted parts are better than parts that differ by half of their blocks.
    const int block_parts = wanted > 1 && blocks <= 2 * wanted ? blocks : std::min(blocks, wanted);
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
  const auto phase_of = [&](int index) { return &phases_[static_cast<size_t>(index / parts)]; };
  const auto blocks_of = [&](int index) {
    return Part(BlockCount(), 1, index % parts / shares.pixels, shares.blocks);
  };
  pool.ParallelFor(parts * phases, [&](int index, int thread) {
    const int part = index % parts;
    const Range part_pixels = Part(pixels.size(), grain, part % shares.pixels, shares.pixels);
    WorkItem item = {phase_of(index),
                     {pixels.begin + part_pixels.begin, pixels.begin + part_pixels.end},
                     blocks_of(index),
                     {}};
    const int next = index + 1;
    if (next < parts * phases) item.next = {phase_of(next), blocks_of(next).begin};
    RunItem(frame, item, place,
            reinterpret_cast<const float**>(taps + static_cast<size_t>(thread) * TapFloats()));
  });
}

void Conv::RunTested(const Frame& frame, const ChangeTest& test, ThreadPool& pool, float* taps,
                     float* stage) const {
  const Range all = {0, frame.runs.count()};
  if (test.threshold == 0.0f) {
    // Each thread marks only changes, whichever channels of a pixel it writes.
    std::fill_n(test.changed, all.size(), uint8_t{0});
    Place place;
    place.changed = test.changed;
    return RunShared(frame, all, place, pool, taps);
  }
  const Shares shares = SharesOf(all.size(), pool.threads());
  const bool blocks_are_whole_lanes = is_depthwise_ || groups_ == 1;
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
  // All threads share one stage, so that they can share out the weights.
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
    RunItem(frame, {&phase, pixels, {0, BlockCount()}, {}}, place, taps);
  }
  const ChangeKernels& kernels = ChooseChangeKernels();
  uint8_t* const changed = test.changed + pixels.begin;
  kernels.judge(test, place.squares, pixels.size(), out_channels_, changed);
  if (test.stores_all) return;
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

// Either each block reads all input again, or each part of the pixels reads all weights again.
// Takes the way that moves less memory.
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
  const int blocks_of_group = BlockCount() / groups_;
  const int64_t weights_anew = block_bytes * item.blocks.size() * (parts - 1);
  const int64_t input_anew = input_bytes * item.pixels.size() * item.blocks.size() *
                             (blocks_of_group - 1) / blocks_of_group;
  return input_anew < weights_anew ? item.pixels.size() : pixels;
}

// The weights of the block after one of an item's.
Conv::NextWeights Conv::WeightsAfter(const WorkItem& item, int block, Range pixels) const {
  BlockOfPhase after = {item.phase, block + 1};
  if (after.block == item.blocks.end) {
    after = pixels.end < item.pixels.end ? BlockOfPhase{item.phase, item.blocks.begin} : item.next;
  }
  const bool is_there = after.phase == item.phase && after.block == block;
  if (after.phase == nullptr || is_there) return {};
  const ConvBlock& next = after.phase->blocks[static_cast<size_t>(after.block)];
  const int64_t floats =
      static_cast<int64_t>(after.phase->taps.size()) * next.inputs * next.vectors * kernels_.lanes;
  return {next.weights, next.weights + floats, floats / DivideUp(pixels.size(), kListPixels) + 1};
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
      if (!item.phase->weights_stay_cached) list.ahead = WeightsAfter(item, block, pixels);
      const WorkItem part = {item.phase, pixels, {block, block + blocks_at_once}, {}};
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
  if (phase.takes_rows && run.end - run.begin < frame.output.width) {
    FetchRowBelow(frame, phase, image, run);
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

void Conv::FetchRowBelow(const Frame& frame, const Phase& phase, int image,
                         const PixelRun& run) const {
  const ConstImageView& input = frame.input;
  const int row = run.row + 1;
  if (row >= frame.output.height) return;
  PrefetchFloats(frame.output.Pixel(image, row, run.begin),
                 (run.end - run.begin) * frame.output.pixel_stride);
  const int last = row * in_step_rows_ + phase.largest.row;
  const int begin = std::max(run.begin * in_step_columns_ + phase.smallest.column, 0);
  const int end =
      std::min((run.end - 1) * in_step_columns_ + phase.largest.column + 1, input.width);
  for (int y = std::max(last - in_step_rows_ + 1, 0); y <= std::min(last, input.height - 1); ++y) {
    PrefetchFloats(input.Pixel(image, y, begin), (end - begin) * input.pixel_stride);
  }
}

Range Conv::ColumnsOfRow(const ConstImageView& input, const Phase& phase, Range columns) const {
  if (!phase.takes_rows) return {columns.begin, columns.begin};
  if (phase.rows_take_borders) return columns;
  const Range inside = InsideColumns(input, phase);
  const int begin = std::clamp(inside.begin, columns.begin, columns.end);
  int count = std::max(std::min(inside.end, columns.end) - begin, 0);
  if (!is_depthwise_) count -= count % kRowGrain;
  return {begin, begin + count};
}

Range Conv::InsideColumns(const ConstImageView& input, const Phase& phase) const {
  const int begin =
      phase.smallest.column < 0 ? DivideUp(-phase.smallest.column, in_step_columns_) : 0;
  return {begin, StepsBelow(input.width, phase.largest.column, in_step_columns_)};
}

Range Conv::ColumnsUnder(const ConstImageView& input, const Phase& phase, Range columns) const {
  const int first = columns.begin * in_step_columns_ + phase.taps[0].column;
  const int last = (columns.end - 1) * in_step_columns_ + phase.largest.column;
  const int begin = first < 0 ? DivideUp(-first, column_dilation_) : 0;
  const int end = StepsBelow(std::min(last + 1, input.width), first, column_dilation_);
  return begin < end ? Range{begin, end} : Range();
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
    // The list is full, or the next pixel has other taps.
    if (list.count == kListPixels || i < end) {
      list.inputs_after = InputsAfter(input, phase, span, i);
      RunList(frame, item, list);
    }
  }
}

FetchAhead Conv::InputsAfter(const ConstImageView& input, const Phase& phase, const Span& span,
                             int next) const {
  const int row = span.row / step_rows_ * in_step_rows_ + phase.largest.row;
  const int end = std::min(next + kListPixels, span.columns.end);
  const Range columns = {next * in_step_columns_ + phase.largest.column,
                         std::min(end * in_step_columns_ + phase.largest.column, input.width)};
  // In a slice of wider pixels most of the fetch might be in vain.
  const bool is_slice = input.pixel_stride > in_channels_;
  if (is_slice || row < 0 || row >= input.height || columns.begin < 0 || columns.empty()) return {};
  const float* const first = input.Pixel(span.image, row, columns.begin);
  return {first, first + columns.size() * input.pixel_stride};
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
  row.columns_inside = ColumnsUnder(input, phase, span.columns);
  if (!inside.empty()) {
    row.first = input.Pixel(span.image, row_of_tap(inside.begin),
                            span.columns.begin * in_step_columns_ + phase.taps[0].column +
                                row.columns_inside.begin * column_dilation_);
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
  const FetchAhead ahead = phase.weights_stay_cached ? list.inputs_after : list.ahead.Next();
  list.inputs_after = {};
  list.count = 0;
  list.border_count = 0;
  if (is_depthwise_) return kernels_.depthwise(phase.depthwise, pixels);
  const std::vector<ConvBlock>& blocks = by_rows ? phase.row_blocks : phase.blocks;
  for (int b = item.blocks.begin; b < item.blocks.end; ++b) {
    const Range part = Part(static_cast<int>(ahead.end - ahead.begin), 1, b - item.blocks.begin,
                            item.blocks.size());
    pixels.ahead = {ahead.begin + part.begin, ahead.begin + part.end};
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

}  // namespace cacheinf::cpu
