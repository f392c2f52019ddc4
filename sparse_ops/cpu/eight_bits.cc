#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/view_transforms.h"

// Operators on 8-bit maps: the loops of the reference, shared out among threads.

namespace cacheinf::cpu {
namespace {

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
QuantBinaryArgs OneImage(QuantBinaryArgs args, int n) {
  args.a = OneImage(args.a, n);
  args.b = OneImage(args.b, n);
  args.output = OneImage(args.output, n);
  return args;
}
template <typename Args>
Args OneImage(Args args, int n) {
  args.input = OneImage(args.input, n);
  args.output = OneImage(args.output, n);
  return args;
}

// `work` is the cost of a pixel.
void ComputeRuns(const auto& args, const ActivePixels& pixels, int64_t work, ThreadPool& pool) {
  const ImageView& output = args.output;
  ActiveRuns(pixels, output.batch, output.width)
      .ForEach(pool, work, [&](int n, const PixelRun& run) {
        const int before[] = {0, run.end - run.begin};
        reference::Compute(OneImage(args, n),
                           ActivePixels({run.row, run.row + 1}, &run, before, 1));
      });
}

}  // namespace

void Compute(const FakeQuantiseArgs& args, const ActivePixels& pixels, ThreadPool&) {
  reference::Compute(args, pixels);
}

void Compute(const QuantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  ComputeRuns(args, pixels, args.input.channels, pool);
}
void Compute(const DequantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  ComputeRuns(args, pixels, args.output.channels, pool);
}
void Compute(const QuantConvArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const int64_t taps = int64_t{args.spec.rows.kernel} * args.spec.columns.kernel *
                       (args.in_channels / args.spec.groups);
  ComputeRuns(args, pixels, taps * args.out_channels, pool);
}
void Compute(const TableArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  ComputeRuns(args, pixels, args.channels, pool);
}
void Compute(const QuantBinaryArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  ComputeRuns(args, pixels, args.channels, pool);
}
void Compute(const QuantPoolArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const int64_t taps = int64_t{args.spec.rows.kernel} * args.spec.columns.kernel;
  ComputeRuns(args, pixels, taps * args.channels, pool);
}

}  // namespace cacheinf::cpu
