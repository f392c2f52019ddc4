#include "sparse_ops/cpu/quant_conv.h"

#include <algorithm>
#include <cstring>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/parts.h"
#include "sparse_ops/eight_bits.h"

namespace cacheinf::cpu {
namespace {

constexpr int kNumbers = QuantEpilogue::kNumbers;
constexpr int kSignBit = 0x80;

// Pointers of a list: its pixels times their segments.
constexpr int kListPointers = 4096;
constexpr int kFewPixels = kQuantListPixels / 2;  // in lists of more segments
constexpr int kMostSegments = kListPointers / kFewPixels;

// Runs of pixels shorter than this end before the hardware predicts what they read, and maps larger
// than this are no longer in a near cache.
constexpr int kShortRun = 32;
constexpr int64_t kNearBytes = 256 * 1024;
constexpr int kLineBytes = 64;

// Multiply-adds that cost about as much as reading a number from elsewhere.
constexpr int64_t kProductsOfNumber = 16;

int TapsOf(const ConvSpec& spec) { return spec.rows.kernel * spec.columns.kernel; }

const uint8_t* BytesOf(const float* pixel) { return reinterpret_cast<const uint8_t*>(pixel); }

void Prefetch(const uint8_t* begin, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(begin + i);
  __builtin_prefetch(begin + bytes - 1);
}

// Whether kernels take rows of a depthwise convolution.
bool FitsRows(const ConvSpec& spec) {
  const int kernel = spec.rows.kernel;
  return (kernel == 3 || kernel == 5) && spec.columns.kernel == kernel && spec.rows.dilation == 1 &&
         spec.columns.dilation == 1 && spec.columns.stride <= 2;
}

// Columns (or rows) of the output whose taps all lie inside the input.
Range Inside(const WindowAxis& axis, int in_size) {
  const int reach = (axis.kernel - 1) * axis.dilation;
  const int begin = axis.pad_begin <= 0 ? 0 : DivideUp(axis.pad_begin, axis.stride);
  const int past = in_size - reach + axis.pad_begin;  // of the first tap's places
  return {begin, past <= 0 ? 0 : DivideUp(past, axis.stride)};
}

}  // namespace

// Output pixels on their way to the kernels.
struct QuantConv::List {
  int count = 0;
  int capacity = 0;
  int segments = 0;
  int words = 0;
  const uint8_t* inputs[kListPointers];  // [segment * capacity + pixel]
  float* outputs[kQuantListPixels];
  const float* residuals[kQuantListPixels];
  uint8_t* changed[kQuantListPixels];

  void Begin(int pixel_segments, int segment_words) {
    segments = pixel_segments;
    words = segment_words;
    capacity = segments * kQuantListPixels <= kListPointers ? kQuantListPixels : kFewPixels;
  }
};

// One thread's work on a part of the active pixels.
class QuantConv::Worker {
 public:
  Worker(const QuantConv& conv, const QuantConvArgs& args, uint8_t* changed)
      : conv_(conv),
        args_(args),
        changed_(changed),
        rows_inside_(Inside(args.spec.rows, args.input.height)),
        columns_inside_(Inside(args.spec.columns, args.input.width)) {
    const ConvSpec& spec = args.spec;
    // Where pixels lie end to end, a row of taps is one segment.
    const bool by_rows = !conv.is_depthwise_ && spec.columns.dilation == 1 && spec.groups == 1 &&
                         args.input.pixel_stride == conv.group_words_;
    segment_columns_ = by_rows ? 1 : spec.columns.kernel;
    for (List& list : inside_) {
      list.Begin(spec.rows.kernel * segment_columns_,
                 conv.group_words_ * (by_rows ? spec.columns.kernel : 1));
    }
    border_.Begin(TapsOf(spec), conv.group_words_);
    const auto bytes = [](const auto& map) {
      return int64_t{map.height} * map.width * map.channels * kBytesOfWord;
    };
    is_near_ = bytes(args.input) + bytes(args.output) <= kNearBytes;
    has_spares_ = !args.gives_floats && args.out_channels % kBytesOfWord != 0;
  }

  void Add(int image, const PixelRun& run, int number) {
    if (conv_.is_depthwise_ && conv_.in_registers_) return RunRow(image, run, number);
    const bool row_is_inside = run.row >= rows_inside_.begin && run.row < rows_inside_.end;
    const int begin =
        row_is_inside ? std::clamp(columns_inside_.begin, run.begin, run.end) : run.end;
    const int end = std::clamp(columns_inside_.end, begin, run.end);
    const bool prefetches = !is_near_ && run.end - run.begin < kShortRun;
    for (int x = run.begin; x < begin; ++x) AddBorder(image, run.row, x, number + x - run.begin);
    for (int x = begin; x < end;) {
      List& list = inside_[current_];
      const int count = std::min(end - x, list.capacity - list.count);
      AddInside(list, image, run.row, x, count, number + x - run.begin, prefetches);
      x += count;
      // The other list's inputs have arrived in the meantime.
      if (list.count == list.capacity) {
        current_ ^= 1;
        Flush(inside_[current_]);
      }
    }
    for (int x = end; x < run.end; ++x) AddBorder(image, run.row, x, number + x - run.begin);
  }

  void Finish() {
    Flush(inside_[current_ ^ 1]);
    Flush(inside_[current_]);
    Flush(border_);
  }

 private:
  void RunRow(int image, const PixelRun& run, int number) {
    const ConvSpec& spec = args_.spec;
    const ConstImageView& input = args_.input;
    QuantRow row;
    row.count = run.end - run.begin;
    row.kernel = spec.rows.kernel;
    row.stride = spec.columns.stride;
    for (int ky = 0; ky < row.kernel; ++ky) {
      const int y = run.row * spec.rows.stride - spec.rows.pad_begin + ky;
      if (y >= 0 && y < input.height) row.rows[ky] = BytesOf(input.Pixel(image, y, 0));
    }
    row.first = run.begin * spec.columns.stride - spec.columns.pad_begin;
    row.width = input.width;
    row.pixel_bytes = input.pixel_stride * kBytesOfWord;
    row.outside = conv_.outside_.data();
    row.output = args_.output.Pixel(image, run.row, run.begin);
    row.output_step = args_.output.pixel_stride;
    if (args_.residual.data != nullptr) {
      row.residual = args_.residual.Pixel(image, run.row, run.begin);
      row.residual_step = args_.residual.pixel_stride;
    }
    if (changed_ != nullptr) row.changed = changed_ + number;
    row.epilogue = &conv_.epilogue_;
    for (const QuantBlock& block : conv_.blocks_) conv_.kernels_->depthwise_row(block, row);
    for (int p = 0; p < row.count; ++p) FillSpares(row.output + p * row.output_step);
  }

  void FillSpares(float* pixel) const {
    if (has_spares_) FillSpare(pixel, args_.out_channels, args_.steps.zero_point);
  }

  void AddInside(List& list, int image, int row, int x, int count, int number, bool prefetches) {
    const ConvSpec& spec = args_.spec;
    const ConstImageView& input = args_.input;
    const int first = x * spec.columns.stride - spec.columns.pad_begin;
    const int64_t step = spec.columns.stride * input.pixel_stride * kBytesOfWord;
    const int64_t bytes = (count - 1) * step + list.words * kBytesOfWord;
    const uint8_t** to = list.inputs + list.count;
    for (int ky = 0; ky < spec.rows.kernel; ++ky) {
      const int y = row * spec.rows.stride - spec.rows.pad_begin + ky * spec.rows.dilation;
      for (int kx = 0; kx < segment_columns_; ++kx) {
        const uint8_t* const from =
            BytesOf(input.Pixel(image, y, first + kx * spec.columns.dilation));
        for (int p = 0; p < count; ++p) to[p] = from + p * step;
        if (prefetches) Prefetch(from, bytes);
        to += list.capacity;
      }
    }
    AddOutputs(list, image, row, x, count, number);
    if (prefetches) {
      Prefetch(BytesOf(args_.output.Pixel(image, row, x)),
               ((count - 1) * args_.output.pixel_stride + args_.output.channels) * kBytesOfWord);
    }
  }

  void AddBorder(int image, int row, int x, int number) {
    const ConvSpec& spec = args_.spec;
    const ConstImageView& input = args_.input;
    const uint8_t** to = border_.inputs + border_.count;
    for (int ky = 0; ky < spec.rows.kernel; ++ky) {
      const int y = row * spec.rows.stride - spec.rows.pad_begin + ky * spec.rows.dilation;
      for (int kx = 0; kx < spec.columns.kernel; ++kx, to += border_.capacity) {
        const int column =
            x * spec.columns.stride - spec.columns.pad_begin + kx * spec.columns.dilation;
        const bool is_inside = y >= 0 && y < input.height && column >= 0 && column < input.width;
        *to = is_inside ? BytesOf(input.Pixel(image, y, column)) : conv_.outside_.data();
      }
    }
    AddOutputs(border_, image, row, x, 1, number);
    if (border_.count == border_.capacity) Flush(border_);
  }

  void AddOutputs(List& list, int image, int row, int x, int count, int number) {
    float* const output = args_.output.Pixel(image, row, x);
    for (int p = 0; p < count; ++p) {
      list.outputs[list.count + p] = output + p * args_.output.pixel_stride;
    }
    if (args_.residual.data != nullptr) {
      const float* const residual = args_.residual.Pixel(image, row, x);
      for (int p = 0; p < count; ++p) {
        list.residuals[list.count + p] = residual + p * args_.residual.pixel_stride;
      }
    }
    if (changed_ != nullptr) {
      for (int p = 0; p < count; ++p) list.changed[list.count + p] = changed_ + number + p;
    }
    list.count += count;
  }

  void Flush(List& list) {
    if (list.count == 0) return;
    for (int s = 0; s < list.segments; ++s) {
      const uint8_t** const inputs = list.inputs + s * list.capacity;
      std::fill(inputs + list.count, inputs + list.capacity, inputs[list.count - 1]);
    }
    QuantList pixels;
    pixels.epilogue = &conv_.epilogue_;
    pixels.count = list.count;
    pixels.segments = list.segments;
    pixels.words = list.words;
    pixels.stride = list.capacity;
    pixels.inputs = list.inputs;
    pixels.outputs = list.outputs;
    if (args_.residual.data != nullptr) pixels.residuals = list.residuals;
    if (changed_ != nullptr) pixels.changed = list.changed;
    const QuantKernels& kernels = *conv_.kernels_;
    const auto run = conv_.is_depthwise_   ? kernels.depthwise
                     : conv_.in_registers_ ? kernels.run_in_registers
                                           : kernels.run;
    for (const QuantBlock& block : conv_.blocks_) run(block, pixels);
    for (int p = 0; p < list.count && has_spares_; ++p) FillSpares(list.outputs[p]);
    list.count = 0;
  }

  const QuantConv& conv_;
  const QuantConvArgs& args_;
  uint8_t* changed_;
  Range rows_inside_;
  Range columns_inside_;
  int segment_columns_;
  bool is_near_;
  bool has_spares_;
  List inside_[2];  // filled in turn
  int current_ = 0;
  List border_;
};

bool QuantConv::Takes(const QuantConvArgs& args) {
  const int groups = args.spec.groups;
  const bool is_wide = groups == 1 || args.in_channels > groups || args.out_channels == groups;
  return is_wide && TapsOf(args.spec) <= kMostSegments;
}

QuantConv::QuantConv(const QuantConvArgs& args, const QuantFamily& family)
    : is_depthwise_(args.spec.groups > 1 && args.in_channels == args.spec.groups),
      group_inputs_(args.in_channels / args.spec.groups),
      group_outputs_(args.out_channels / args.spec.groups),
      group_words_(WordCount(group_inputs_)),
      taps_(TapsOf(args.spec)),
      tap_columns_(args.spec.columns.kernel) {
  const auto takes = [&](const QuantKernels* way) {
    return way->has_wide_weights || args.weight_zeros == nullptr;
  };
  kernels_ = *std::ranges::find_if(family.ways, takes);
  SetEpilogue(args);
  PackBlocks(args);
  outside_.assign(static_cast<size_t>(WordCount(args.in_channels)) * kBytesOfWord,
                  static_cast<uint8_t>(args.input_steps.zero_point));
}

void QuantConv::SetEpilogue(const QuantConvArgs& args) {
  QuantEpilogue& epilogue = epilogue_;
  epilogue.rounds_sums = args.rounds_sums;
  const Steps& sums = args.sum_steps;
  epilogue.zero_point = sums.zero_point - sums.low();
  epilogue.flip = sums.is_signed ? kSignBit : 0;
  epilogue.has_table = args.table != nullptr;
  for (int number = 0; number < kNumbers && epilogue.has_table; ++number) {
    epilogue.bytes[number] = static_cast<uint8_t>(args.table[number ^ epilogue.flip]);
  }
  if (args.rounds_sums) {
    epilogue.low = args.low - sums.low();
    epilogue.high = args.high - sums.low();
  }
  epilogue.addend = args.rounded_steps();
  epilogue.is_residual_float = args.is_residual_float;
  epilogue.residual = args.residual_steps;
  epilogue.activation = args.activation;
  const bool is_relu = args.activation.kind == Function::Kind::kRelu;
  if (args.activation.kind != Function::Kind::kIdentity) {
    epilogue.apply = ChooseFunctionKernels().function(args.activation.kind);
  }
  epilogue.activation_before_residual = args.activation_before_residual;
  epilogue.gives_floats = args.gives_floats;
  epilogue.steps = args.steps;
  epilogue.least = args.rounds_sums ? args.steps.low() : args.low;
  epilogue.most = args.rounds_sums ? args.steps.high() : args.high;

  const auto is_below_one = [&](int channel) { return args.scales[channel] / sums.scale < 1.0f; };
  in_registers_ = kernels_->run_in_registers != nullptr && args.rounds_sums &&
                  (!is_depthwise_ || FitsRows(args.spec));
  for (int channel = 0; channel < args.out_channels && in_registers_; ++channel) {
    in_registers_ = is_below_one(channel);
  }
  if (!in_registers_ || args.residual.channels == 0) return;
  const bool is_moderate =
      epilogue.addend.scale <= kModerateScale && epilogue.residual.scale <= kModerateScale;
  in_registers_ = !args.is_residual_float && is_moderate && (epilogue.apply == nullptr || is_relu);
  // Rounding keeps the order, so a bound can be taken after it.
  if (in_registers_ && is_relu) epilogue.least = args.steps.zero_point;
}

int64_t QuantConv::BytesOfBlock(int vectors) const {
  const int lanes = vectors * kernels_->lanes;
  if (!is_depthwise_) {
    const int of_lane = kBytesOfWord * (kernels_->has_wide_weights ? 2 : 1);
    return int64_t{taps_} * group_words_ * lanes * of_lane;
  }
  const int words =
      in_registers_ ? tap_columns_ * WordCount(taps_ / tap_columns_) : DivideUp(taps_, 2);
  return int64_t{words} * lanes * kBytesOfWord;
}

// Blocks for adjacent output channels that read the same input, or each its own.
void QuantConv::AddBlocks(int first_input, Range outputs, int vectors) {
  const int lanes = kernels_->lanes;
  for (int output = outputs.begin; output < outputs.end;) {
    const int wanted = DivideUp(outputs.end - output, lanes);
    QuantBlock block;
    block.vectors = std::min(vectors, wanted >= 4 ? 4 : wanted >= 2 ? 2 : 1);
    if (is_depthwise_ && in_registers_) block.vectors = vectors;
    block.first_input = is_depthwise_ ? output : first_input;
    block.first_output = output;
    block.outputs = std::min(block.vectors * lanes, outputs.end - output);
    blocks_.push_back(block);
    output += block.outputs;
  }
}

void QuantConv::PackBlocks(const QuantConvArgs& args) {
  constexpr int kMostVectors = 4;
  const int lanes = kernels_->lanes;
  if (is_depthwise_) {
    AddBlocks(0, {0, args.out_channels}, kMostVectors);
  } else {
    // What a tap reads is a whole number of words within the pixel.
    const int last_input = (WordCount(args.in_channels) - group_words_) * kBytesOfWord;
    for (int group = 0; group < args.spec.groups; ++group) {
      AddBlocks(std::min(group * group_inputs_, last_input),
                {group * group_outputs_, (group + 1) * group_outputs_}, kernels_->max_vectors);
    }
  }
  int64_t bytes = 0;
  size_t padded = 0;
  for (QuantBlock& block : blocks_) {
    block.flips_inputs = args.input_steps.is_signed;
    bytes += BytesOfBlock(block.vectors);
    padded += static_cast<size_t>(block.vectors * lanes);
  }
  weights_ = AlignedFloats(static_cast<size_t>(bytes) / sizeof(float));
  sums_.assign(padded, 0);
  multipliers_.assign(padded, 0.0f);
  auto* weights = reinterpret_cast<uint8_t*>(weights_.data());
  size_t place = 0;
  for (QuantBlock& block : blocks_) {
    block.weights = weights;
    block.sums = &sums_[place];
    block.multipliers = &multipliers_[place];
    for (int v = 0; v < block.vectors; ++v) {
      for (int lane = 0; lane < lanes; ++lane, ++place) {
        const int within = ChannelOfLane(in_registers_, lanes, block.vectors, v, lane);
        if (within >= block.outputs) continue;
        const int channel = block.first_output + within;
        multipliers_[place] =
            args.rounds_sums ? args.scales[channel] / args.sum_steps.scale : args.scales[channel];
        PackChannel(args, channel, block, v, lane, weights, sums_[place]);
      }
    }
    weights += BytesOfBlock(block.vectors);
  }
}

void QuantConv::PackChannel(const QuantConvArgs& args, int channel, const QuantBlock& block,
                            int vector, int lane, uint8_t* weights, int32_t& sum) const {
  const int offset =
      is_depthwise_ ? 0 : channel / group_outputs_ * group_inputs_ - block.first_input;
  const int weight_zero = args.weight_zeros == nullptr ? 0 : args.weight_zeros[channel];
  // The number that counts as 0 in inputs, here.
  const int zero = args.input_steps.zero_point + (args.input_steps.is_signed ? kSignBit : 0);
  uint32_t start = args.bias == nullptr ? 0 : static_cast<uint32_t>(args.bias[channel]);
  for (int tap = 0; tap < taps_; ++tap) {
    for (int i = 0; i < group_inputs_; ++i) {
      const float* const from =
          args.weights + (int64_t{channel} * group_words_ + i / kBytesOfWord) * taps_ + tap;
      const int w = ByteOf(from, i % kBytesOfWord, /*is_signed=*/true) - weight_zero;
      start -= static_cast<uint32_t>(zero * w);
      PackWeight(w, tap, offset + i, block, vector, lane, weights);
    }
  }
  sum = static_cast<int32_t>(start);
}

void QuantConv::PackWeight(int w, int tap, int input, const QuantBlock& block, int vector, int lane,
                           uint8_t* weights) const {
  const int lanes = kernels_->lanes;
  const auto lane_of = [&](int64_t word) { return (word * block.vectors + vector) * lanes + lane; };
  if (is_depthwise_ && in_registers_) {
    const int row = tap / tap_columns_;
    const int fours = WordCount(taps_ / tap_columns_);
    const int64_t word = int64_t{tap % tap_columns_} * fours + row / kBytesOfWord;
    weights[lane_of(word) * kBytesOfWord + row % kBytesOfWord] = static_cast<uint8_t>(w);
  } else if (is_depthwise_) {
    const auto wide = static_cast<int16_t>(w);
    std::memcpy(weights + lane_of(tap / 2) * kBytesOfWord + tap % 2 * sizeof(wide), &wide,
                sizeof(wide));
  } else if (kernels_->has_wide_weights) {
    const auto wide = static_cast<int16_t>(w);
    const int byte = input % kBytesOfWord;
    const int64_t word = int64_t{tap} * group_words_ + input / kBytesOfWord;
    const int64_t pair = ((word * block.vectors + vector) * 2 + byte % 2) * lanes + lane;
    std::memcpy(weights + (pair * 2 + byte / 2) * static_cast<int64_t>(sizeof(wide)), &wide,
                sizeof(wide));
  } else {
    const int64_t word = int64_t{tap} * group_words_ + input / kBytesOfWord;
    weights[lane_of(word) * kBytesOfWord + input % kBytesOfWord] = static_cast<uint8_t>(w);
  }
}

void QuantConv::Run(const QuantConvArgs& args, const ActivePixels& pixels, const ChangeTest* test,
                    ThreadPool& pool) const {
  const ActiveRuns runs(pixels, args.output.batch, args.output.width);
  uint8_t* const changed = test == nullptr ? nullptr : test->changed;
  const int64_t work = int64_t{taps_} * group_inputs_ * args.out_channels / kProductsOfNumber + 1;
  runs.ForEachPart(pool, work, [&](Range numbers) {
    if (changed != nullptr) std::fill(changed + numbers.begin, changed + numbers.end, uint8_t{0});
    Worker worker(*this, args, changed);
    runs.ForEachIn(numbers, [&](int image, const PixelRun& run, int number) {
      worker.Add(image, run, number);
    });
    worker.Finish();
  });
}

}  // namespace cacheinf::cpu
