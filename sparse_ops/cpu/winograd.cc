#include "sparse_ops/cpu/winograd.h"

#include <algorithm>

#include "sparse_ops/cpu/change_test.h"
#include "sparse_ops/cpu/parts.h"

namespace cacheinf::cpu {
namespace {

// A batch's transformed tiles and products should stay in the second-level cache. The weights, read
// once per batch, should not move more memory than its tiles do. With few channels the first sets
// the size of batches, with many the second, within bounds.
constexpr size_t kBatchBytes = 448 * 1024;
constexpr int kMostTiles = 96;

// More weights than the second-level cache holds beside a batch.
constexpr size_t kSharedWeightBytes = 1024 * 1024;
constexpr int kTileVisits =
    8;  // reading a tile that another thread wrote costs as much as so many weights
// Threads share out work in parts; faster ones take more.
constexpr int kPartsOfThread = 4;

constexpr size_t kLineFloats = 16;

size_t InLines(size_t floats) { return (floats + kLineFloats - 1) / kLineFloats * kLineFloats; }

}  // namespace

struct Winograd::Tile {
  int image;
  int row;  // of its first pixel
  int column;
  uint32_t active;         // bit i: pixel i is active
  int numbers[kTileSize];  // of the first active pixel in each row, in the order of the runs
};

struct Winograd::Frame {
  ConstImageView input;
  ConstImageView residual;
  ImageView output;
};

Winograd::Winograd(const ConvArgs& args)
    : kernels_(ChooseWinogradKernels()),
      groups_(args.spec.groups),
      pad_rows_(args.spec.rows.pad_begin),
      pad_columns_(args.spec.columns.pad_begin),
      zeros_(static_cast<size_t>(args.input.channels)) {
  shape_.inputs = args.input.channels / groups_;
  shape_.outputs = args.output.channels / groups_;
  shape_.input_vectors = DivideUp(shape_.inputs, kernels_.lanes);
  shape_.output_vectors = DivideUp(shape_.outputs, kernels_.lanes);
  PackWeights(args);
  PackEpilogue(args);
}

// For one group.
size_t Winograd::WeightFloats() const {
  return kFrequencies * static_cast<size_t>(shape_.inputs) * OutputFloats();
}

size_t Winograd::OutputFloats() const {
  return static_cast<size_t>(shape_.output_vectors) * static_cast<size_t>(kernels_.lanes);
}

void Winograd::PackWeights(const ConvArgs& args) {
  const size_t lanes = static_cast<size_t>(kernels_.lanes);
  const size_t inputs = static_cast<size_t>(shape_.inputs);
  weights_ = AlignedFloats(static_cast<size_t>(groups_) * WeightFloats());
  const float* taps = args.weights;
  for (int output = 0; output < args.output.channels; ++output) {
    const int group = output / shape_.outputs;
    const int vector = output % shape_.outputs / kernels_.lanes;
    const int block = vector / kernels_.block_vectors * kernels_.block_vectors;
    const int vectors = std::min(kernels_.block_vectors, shape_.output_vectors - block);
    float* to = weights_.data() + static_cast<size_t>(group) * WeightFloats() +
                static_cast<size_t>(block) * lanes * inputs +
                static_cast<size_t>(vector - block) * lanes +
                static_cast<size_t>(output % shape_.outputs % kernels_.lanes);
    for (int input = 0; input < shape_.inputs; ++input) {
      const auto frequencies = WinogradWeights(taps);
      for (size_t f = 0; f < kFrequencies; ++f) {
        to[f * inputs * OutputFloats()] = frequencies[f];
      }
      taps += 9;
      to += static_cast<size_t>(vectors) * lanes;
    }
  }
}

void Winograd::PackEpilogue(const ConvArgs& args) {
  const auto pack = [&](const float* from, bool one) {
    AlignedFloats packed(static_cast<size_t>(groups_) * OutputFloats());
    for (int output = 0; output < args.output.channels; ++output) {
      const size_t group = static_cast<size_t>(output / shape_.outputs);
      packed.data()[group * OutputFloats() + static_cast<size_t>(output % shape_.outputs)] =
          from[one ? 0 : output];
    }
    return packed;
  };
  const ChannelFunction& activation = args.activation;
  if (args.bias != nullptr) bias_ = pack(args.bias, false);
  if (activation.slopes != nullptr) slopes_ = pack(activation.slopes, activation.one_slope);
  epilogue_ = {activation.function, ChooseFunctionKernels().function(activation.function.kind),
               activation.slopes == nullptr ? nullptr : ChooseFunctionKernels().prelu,
               args.activation_before_residual};
}

// For one vector of channels of a tile.
size_t Winograd::FrequencyFloats() const {
  return static_cast<size_t>(kernels_.lanes) * kFrequencies;
}

// What one thread needs for a batch of so many tiles of one group.
size_t Winograd::BatchFloats(int tiles) const {
  const size_t vectors = static_cast<size_t>(shape_.input_vectors + shape_.output_vectors);
  return static_cast<size_t>(RoundUp(tiles, kernels_.panel_tiles)) * vectors * FrequencyFloats();
}

// For one tile, all groups.
size_t Winograd::StageFloats() const {
  return kTilePixels * InLines(static_cast<size_t>(groups_) * static_cast<size_t>(shape_.outputs));
}

int Winograd::LargestBatch() const {
  const int panel = kernels_.panel_tiles;
  const int fitting = static_cast<int>(kBatchBytes / (BatchFloats(panel) * sizeof(float))) * panel;
  const int worth_weights = shape_.inputs * shape_.outputs / (shape_.inputs + shape_.outputs) / 2;
  return RoundUp(std::min(std::max({fitting, worth_weights, panel}), kMostTiles), panel);
}

// With a batch of its own, every thread reads all weights; with a shared one, it reads tiles that
// others wrote. Sharing pays if a thread has few tiles, and weights that its cache does not hold.
bool Winograd::SharesWeights(int tiles, int threads) const {
  if (threads == 1 || WeightFloats() * sizeof(float) < kSharedWeightBytes) return false;
  const int worth_weights = shape_.inputs * shape_.outputs / (shape_.inputs + shape_.outputs);
  return DivideUp(tiles, threads) < worth_weights / kTileVisits;
}

// Makes batches of equal size for every thread.
int Winograd::BatchTiles(int tiles, int threads) const {
  const int share = DivideUp(tiles, threads);
  const int batches_of_share = DivideUp(share, LargestBatch());
  return RoundUp(DivideUp(share, batches_of_share), kernels_.panel_tiles);
}

size_t Winograd::ScratchFloats(const ImageView& output, int threads) const {
  const int64_t tiles = int64_t{output.batch} * DivideUp(output.height, kTileSize) *
                        DivideUp(output.width, kTileSize);
  const size_t list = InLines(static_cast<size_t>(tiles) * sizeof(Tile) / sizeof(float));
  const size_t stage = static_cast<size_t>(LargestBatch()) * StageFloats();
  const size_t of_thread = BatchFloats(LargestBatch()) + stage;
  return kLineFloats + list + of_thread * static_cast<size_t>(threads);
}

// Adds active pixels, the first of which has number `number`, to the tiles of their rows.
void Winograd::AddRun(const PixelRun& run, int number, Tile* row_of_tiles) {
  const int y = run.row % kTileSize;
  for (int column = run.begin; column < run.end;) {
    Tile& tile = row_of_tiles[column / kTileSize];
    const int end = std::min(run.end, tile.column + kTileSize);
    const uint32_t all_of_row = 0xfu << y * kTileSize;
    if ((tile.active & all_of_row) == 0) tile.numbers[y] = number;
    const uint32_t added = (1u << (end - tile.column)) - (1u << (column - tile.column));
    tile.active |= added << y * kTileSize;
    number += end - column;
    column = end;
  }
}

int Winograd::ListTiles(const ActiveRuns& runs, const ImageView& output, Tile* tiles) {
  const int tile_columns = DivideUp(output.width, kTileSize);
  int count = 0;
  int image = -1;
  int row = -1;
  Tile* row_of_tiles = tiles;
  const auto drop_idle_tiles = [&] {
    if (row < 0) return;
    for (int i = 0; i < tile_columns; ++i) {
      if (row_of_tiles[i].active != 0) tiles[count++] = row_of_tiles[i];
    }
  };
  runs.ForEachIn({0, runs.count()}, [&](int image_of_run, const PixelRun& run, int number) {
    const int row_of_run = run.row / kTileSize * kTileSize;
    if (image_of_run != image || row_of_run != row) {
      drop_idle_tiles();
      image = image_of_run;
      row = row_of_run;
      row_of_tiles = tiles + count;
      for (int i = 0; i < tile_columns; ++i) row_of_tiles[i] = {image, row, i * kTileSize, 0, {}};
    }
    AddRun(run, number, row_of_tiles);
  });
  drop_idle_tiles();
  return count;
}

void Winograd::Run(const ConstImageView& input, const ConstImageView& residual,
                   const ImageView& output, const ActivePixels& pixels, const ChangeTest* test,
                   ThreadPool& pool, float* scratch) const {
  const auto misaligned = reinterpret_cast<uintptr_t>(scratch) / sizeof(float) % kLineFloats;
  scratch += (kLineFloats - misaligned) % kLineFloats;
  Tile* const tiles = reinterpret_cast<Tile*>(scratch);
  const int count = ListTiles(ActiveRuns(pixels, output.batch, output.width), output, tiles);
  if (count == 0) return;
  float* const memory =
      scratch + InLines(static_cast<size_t>(count) * sizeof(Tile) / sizeof(float));
  const Frame frame = {input, residual, output};
  if (SharesWeights(count, pool.threads())) {
    const int batches = DivideUp(count, LargestBatch() * pool.threads());
    for (int i = 0; i < batches; ++i) {
      const Range batch = Part(count, 1, i, batches);
      RunBatch(frame, test, tiles + batch.begin, batch.size(), &pool, memory);
    }
    return;
  }
  const int batch_tiles = BatchTiles(count, pool.threads());
  const size_t stage_floats =
      test == nullptr ? 0 : static_cast<size_t>(batch_tiles) * StageFloats();
  const size_t floats_of_thread = BatchFloats(batch_tiles) + stage_floats;
  pool.ParallelFor(DivideUp(count, batch_tiles), [&](int index, int thread) {
    const int first = index * batch_tiles;
    RunBatch(frame, test, tiles + first, std::min(batch_tiles, count - first), nullptr,
             memory + static_cast<size_t>(thread) * floats_of_thread);
  });
}

void Winograd::RunBatch(const Frame& frame, const ChangeTest* test, const Tile* tiles, int count,
                        ThreadPool* team, float* memory) const {
  const auto share_out = [&](int size, const auto& work) {
    if (team == nullptr) return work(Range{0, size});
    const int parts = std::min(size, team->threads() * kPartsOfThread);
    team->ParallelFor(parts, [&](int part, int) { work(Part(size, 1, part, parts)); });
  };
  WinogradBatch batch;
  batch.tiles = count;
  batch.transformed = memory;
  batch.products = memory + static_cast<size_t>(RoundUp(count, kernels_.panel_tiles)) *
                                static_cast<size_t>(shape_.input_vectors) * FrequencyFloats();
  float* const stage = test == nullptr ? nullptr : memory + BatchFloats(count);
  for (int group = 0; group < groups_; ++group) {
    const float* const weights = weights_.data() + static_cast<size_t>(group) * WeightFloats();
    share_out(count, [&](Range part) { TransformInputs(frame, tiles, part, group, batch); });
    share_out(kFrequencies, [&](Range part) { kernels_.multiply(shape_, weights, part, batch); });
    share_out(count,
              [&](Range part) { TransformOutputs(frame, tiles, part, group, batch, stage); });
  }
  if (test == nullptr) return;
  share_out(count, [&](Range part) {
    const PixelTest pixel_test(*test, frame.output.channels);
    for (int i = part.begin; i < part.end; ++i) {
      StoreIfChanged(pixel_test, frame.output, tiles[i],
                     stage + static_cast<size_t>(i) * StageFloats());
    }
  });
}

void Winograd::TransformInputs(const Frame& frame, const Tile* tiles, Range of_batch, int group,
                               const WinogradBatch& batch) const {
  for (int i = of_batch.begin; i < of_batch.end; ++i) {
    const float* patch[kPatchPixels];
    GatherPatch(frame.input, tiles[i], group * shape_.inputs, patch);
    kernels_.transform_input(shape_, patch, i, batch);
  }
}

void Winograd::TransformOutputs(const Frame& frame, const Tile* tiles, Range of_batch, int group,
                                const WinogradBatch& batch, float* stage) const {
  const size_t packed = static_cast<size_t>(group) * OutputFloats();
  const WinogradEpilogue epilogue = {bias_.empty() ? nullptr : bias_.data() + packed,
                                     slopes_.empty() ? nullptr : slopes_.data() + packed,
                                     epilogue_};
  for (int i = of_batch.begin; i < of_batch.end; ++i) {
    WinogradOutput output = OutputOf(frame, tiles[i], group * shape_.outputs);
    if (stage != nullptr) {
      output.output = stage + static_cast<size_t>(i) * StageFloats() + group * shape_.outputs;
      output.pixel_stride = static_cast<int64_t>(StageFloats() / kTilePixels);
      output.row_stride = kTileSize * output.pixel_stride;
    }
    kernels_.transform_output(shape_, batch, i, epilogue, output);
  }
}

WinogradOutput Winograd::OutputOf(const Frame& frame, const Tile& tile, int first_channel) {
  WinogradOutput output;
  output.output = frame.output.Pixel(tile.image, tile.row, tile.column) + first_channel;
  output.row_stride = frame.output.row_stride;
  output.pixel_stride = frame.output.pixel_stride;
  output.active = tile.active;
  if (frame.residual.data == nullptr) return output;
  output.residual = frame.residual.Pixel(tile.image, tile.row, tile.column) + first_channel;
  output.residual_row_stride = frame.residual.row_stride;
  output.residual_pixel_stride = frame.residual.pixel_stride;
  return output;
}

void Winograd::StoreIfChanged(const PixelTest& test, const ImageView& output, const Tile& tile,
                              const float* stage) const {
  const int64_t step = static_cast<int64_t>(StageFloats()) / kTilePixels;
  for (int y = 0; y < kTileSize; ++y) {
    const uint32_t row = tile.active >> y * kTileSize & 0xfu;
    int number = tile.numbers[y];
    for (int x = 0; x < kTileSize;) {
      int end = x;
      while (end < kTileSize && (row >> end & 1) != 0) ++end;
      if (end > x) {
        test.StoreIfChanged(
            {stage + (y * kTileSize + x) * step, step},
            {output.Pixel(tile.image, tile.row + y, tile.column + x), output.pixel_stride}, end - x,
            number);
      }
      number += end - x;
      x = end + 1;
    }
  }
}

void Winograd::GatherPatch(const ConstImageView& input, const Tile& tile, int first_channel,
                           const float** patch) const {
  const int first_row = tile.row - pad_rows_;
  const int first_column = tile.column - pad_columns_;
  for (int y = 0; y < kPatchSize; ++y) {
    for (int x = 0; x < kPatchSize; ++x) {
      const int row = first_row + y;
      const int column = first_column + x;
      const bool is_inside = row >= 0 && row < input.height && column >= 0 && column < input.width;
      *patch++ = is_inside ? input.Pixel(tile.image, row, column) + first_channel : zeros_.data();
    }
  }
}

}  // namespace cacheinf::cpu
