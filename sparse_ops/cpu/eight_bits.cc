#include "sparse_ops/eight_bits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/byte_kernels.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/functions.h"
#include "sparse_ops/cpu/runs.h"
#include "sparse_ops/reference/pool_taps.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/view_transforms.h"

// Operators on 8-bit maps, except convolutions (quant_conv.h). Averages, and convolutions that
// quant_conv.h does not take, are the reference's loops, shared out among threads.

namespace cacheinf::cpu {
namespace {

constexpr int kTogether = 512;  // numbers on their way from one form to another
constexpr int kNumbers = 256;   // of 8 bits
constexpr int kMostTaps = 256;  // of a maximum

uint8_t* BytesOf(float* pixel) { return reinterpret_cast<uint8_t*>(pixel); }
const uint8_t* BytesOf(const float* pixel) { return reinterpret_cast<const uint8_t*>(pixel); }

// `work` is the cost of a pixel.
void ForEachRun(const ImageView& output, const ActivePixels& pixels, int64_t work, ThreadPool& pool,
                const auto& fn) {
  ActiveRuns(pixels, output.batch, output.width).ForEach(pool, work, fn);
}

// Whether the pixels of a run lie end to end, with nothing to spare.
bool FillsWords(int channels, int64_t pixel_stride) {
  return channels % kBytesOfWord == 0 && pixel_stride == WordCount(channels);
}

// The reference takes images of a batch together, so each comes alone.
template <typename T>
BasicImageView<T> OneImage(BasicImageView<T> map, int n) {
  if (map.data == nullptr) return map;
  map.data += n * map.batch_stride;
  map.batch = 1;
  return map;
}

QuantConvArgs OneImage(QuantConvArgs args, int n) {
  args.input = OneImage(args.input, n);
  args.residual = OneImage(args.residual, n);
  args.output = OneImage(args.output, n);
  return args;
}
template <typename Args>
Args OneImage(Args args, int n) {
  args.input = OneImage(args.input, n);
  args.output = OneImage(args.output, n);
  return args;
}

void ComputeByReference(const auto& args, const ActivePixels& pixels, int64_t work,
                        ThreadPool& pool) {
  ForEachRun(args.output, pixels, work, pool, [&](int n, const PixelRun& run) {
    const int before[] = {0, run.end - run.begin};
    reference::Compute(OneImage(args, n), ActivePixels({run.row, run.row + 1}, &run, before, 1));
  });
}

// Pictures are large, and have three channels: a word each.
void SpreadThrees(const uint8_t* bytes, int64_t pixels, int zero_point, float* to, int64_t step) {
  const uint32_t spare = static_cast<uint32_t>(zero_point) << 24;
  for (int64_t p = 0; p < pixels; ++p, bytes += 3) {
    const uint32_t word = bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | spare;
    std::memcpy(to + p * step, &word, sizeof(word));
  }
}

// Numbers that lie end to end within pixels that do not: a picture of three channels, say.
void QuantisePixels(const QuantiseArgs& args, const float* from, int64_t count, float* to) {
  const int channels = args.input.channels;
  const int64_t at_once = kTogether / channels;
  uint8_t bytes[kTogether];
  for (int64_t done = 0; done < count; done += at_once) {
    const int64_t some = std::min(at_once, count - done);
    ChooseByteKernels().to_bytes(from + done * channels, args.steps, some * channels, bytes);
    float* const first = to + done * args.output.pixel_stride;
    if (channels == 3) {
      SpreadThrees(bytes, some, args.steps.zero_point, first, args.output.pixel_stride);
      continue;
    }
    for (int64_t p = 0; p < some; ++p) {
      float* const pixel = first + p * args.output.pixel_stride;
      for (int c = 0; c < channels; ++c) BytesOf(pixel)[c] = bytes[p * channels + c];
      FillSpare(pixel, channels, args.steps.zero_point);
    }
  }
}

class BinaryRunner {
 public:
  explicit BinaryRunner(const QuantBinaryArgs& args)
      : args_(args),
        bytes_(ChooseByteKernels()),
        combine_(ChooseFunctionKernels().binary(args.kind).both) {
    if (args.activation.kind != Function::Kind::kIdentity) {
      apply_ = ChooseFunctionKernels().function(args.activation.kind);
    }
  }

  void Run(const float* a, const float* b, int64_t count, float* output) const {
    float first[kTogether];
    float second[kTogether];
    for (int64_t done = 0; done < count; done += kTogether) {
      const int64_t some = std::min<int64_t>(kTogether, count - done);
      bytes_.to_floats(BytesOf(a) + done, args_.a_steps, some, first);
      bytes_.to_floats(BytesOf(b) + done, args_.b_steps, some, second);
      combine_(first, second, first, some);
      if (apply_ != nullptr) apply_(args_.activation, first, first, some);
      bytes_.to_bytes(first, args_.steps, some, BytesOf(output) + done);
    }
  }

 private:
  const QuantBinaryArgs& args_;
  const ByteKernels& bytes_;
  BinaryKernel combine_;
  FunctionKernel apply_ = nullptr;
};

void LargestOfPixel(const QuantPoolArgs& args, int n, int row, int column) {
  const reference::PoolTaps rows = reference::TapsOfPool(args.spec.rows, args.input.height, row);
  const reference::PoolTaps columns =
      reference::TapsOfPool(args.spec.columns, args.input.width, column);
  const uint8_t* taps[kMostTaps];
  int count = 0;
  for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
    for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
      taps[count++] = BytesOf(args.input.Pixel(n, static_cast<int>(y), static_cast<int>(x)));
    }
  }
  float* const pixel = args.output.Pixel(n, row, column);
  if (count == 0) {
    for (int c = 0; c < args.channels; ++c) SetByte(pixel, c, args.input_steps.low());
  } else {
    ChooseByteKernels().largest(taps, count, args.input_steps.is_signed, args.channels,
                                BytesOf(pixel));
  }
  FillSpare(pixel, args.channels, args.steps.zero_point);
}

}  // namespace

void Compute(const FakeQuantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const Runs<2> runs(pixels, args.output.rank, args.output.dims,
                     {args.output.strides.data(), args.input.strides.data()});
  if (runs.inner_stride(0) != 1 || runs.inner_stride(1) != 1) {
    return reference::Compute(args, pixels);
  }
  runs.ForEach(pool, [&](const Runs<2>::Strides& offsets, int64_t count) {
    uint8_t bytes[kTogether];
    for (int64_t done = 0; done < count; done += kTogether) {
      const int64_t some = std::min<int64_t>(kTogether, count - done);
      ChooseByteKernels().to_bytes(args.input.data + offsets[1] + done, args.steps, some, bytes);
      ChooseByteKernels().to_floats(bytes, args.steps, some, args.output.data + offsets[0] + done);
    }
  });
}

void Compute(const QuantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const int channels = args.input.channels;
  const bool is_dense = args.input.pixel_stride == channels;
  const bool fills = is_dense && FillsWords(channels, args.output.pixel_stride);
  ForEachRun(args.output, pixels, channels, pool, [&](int n, const PixelRun& run) {
    const int64_t count = run.end - run.begin;
    const float* const from = args.input.Pixel(n, run.row, run.begin);
    float* const to = args.output.Pixel(n, run.row, run.begin);
    if (is_dense && !fills && channels <= kTogether) return QuantisePixels(args, from, count, to);
    const int64_t in_one = fills ? count : 1;
    for (int64_t p = 0; p < count; p += in_one) {
      float* const pixel = to + p * args.output.pixel_stride;
      ChooseByteKernels().to_bytes(from + p * args.input.pixel_stride, args.steps,
                                   in_one * channels, BytesOf(pixel));
      FillSpare(pixel, channels, args.steps.zero_point);
    }
  });
}

void Compute(const DequantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const int channels = args.output.channels;
  const bool fills =
      args.output.pixel_stride == channels && FillsWords(channels, args.input.pixel_stride);
  ForEachRun(args.output, pixels, channels, pool, [&](int n, const PixelRun& run) {
    const int64_t count = run.end - run.begin;
    const float* const from = args.input.Pixel(n, run.row, run.begin);
    float* const to = args.output.Pixel(n, run.row, run.begin);
    const int64_t in_one = fills ? count : 1;
    for (int64_t p = 0; p < count; p += in_one) {
      ChooseByteKernels().to_floats(BytesOf(from + p * args.input.pixel_stride), args.steps,
                                    in_one * channels, to + p * args.output.pixel_stride);
    }
  });
}

void Compute(const QuantConvArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const int64_t taps = int64_t{args.spec.rows.kernel} * args.spec.columns.kernel *
                       (args.in_channels / args.spec.groups);
  ComputeByReference(args, pixels, taps * args.out_channels, pool);
}

void Compute(const TableArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  uint8_t bytes[kNumbers];
  for (int i = 0; i < kNumbers; ++i) bytes[i] = static_cast<uint8_t>(args.entries[i]);
  const int channels = args.channels;
  const bool fills = FillsWords(channels, args.input.pixel_stride) &&
                     FillsWords(channels, args.output.pixel_stride);
  ForEachRun(args.output, pixels, channels, pool, [&](int n, const PixelRun& run) {
    const int in_one = fills ? run.end - run.begin : 1;
    for (int x = run.begin; x < run.end; x += in_one) {
      float* const pixel = args.output.Pixel(n, run.row, x);
      ChooseByteKernels().look_up(bytes, BytesOf(args.input.Pixel(n, run.row, x)),
                                  int64_t{in_one} * channels, BytesOf(pixel));
      FillSpare(pixel, channels, args.steps.zero_point);
    }
  });
}

void Compute(const QuantBinaryArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const BinaryRunner runner(args);
  const int channels = args.channels;
  const bool fills = FillsWords(channels, args.a.pixel_stride) &&
                     FillsWords(channels, args.b.pixel_stride) &&
                     FillsWords(channels, args.output.pixel_stride);
  ForEachRun(args.output, pixels, channels, pool, [&](int n, const PixelRun& run) {
    const int in_one = fills ? run.end - run.begin : 1;
    for (int x = run.begin; x < run.end; x += in_one) {
      float* const pixel = args.output.Pixel(n, run.row, x);
      runner.Run(args.a.Pixel(n, run.row, x), args.b.Pixel(n, run.row, x),
                 int64_t{in_one} * channels, pixel);
      FillSpare(pixel, channels, args.steps.zero_point);
    }
  });
}

void Compute(const QuantPoolArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const int taps = args.spec.rows.kernel * args.spec.columns.kernel;
  const int64_t work = int64_t{taps} * args.channels;
  if (args.spec.kind != PoolSpec::Kind::kMax || taps > kMostTaps) {
    return ComputeByReference(args, pixels, work, pool);
  }
  ForEachRun(args.output, pixels, work, pool, [&](int n, const PixelRun& run) {
    for (int x = run.begin; x < run.end; ++x) LargestOfPixel(args, n, run.row, x);
  });
}

}  // namespace cacheinf::cpu
