#include "sparse_ops/cpu/global_pool.h"

#include <algorithm>
#include <cmath>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/global_pool_kernels.h"

namespace cacheinf {
namespace cpu {
namespace {

// Threads share channels, so that each channel's pixels keep their order.
constexpr int kChannelsPerItem = 64;

void AccumulatePixels(const ConstImageView& map, const ActivePixels& pixels,
                      GlobalPoolKernel kernel, double* sums, ThreadPool& pool) {
  const int slices = (map.channels + kChannelsPerItem - 1) / kChannelsPerItem;
  pool.ParallelFor(map.batch * slices, [&](int index, int) {
    const int n = index / slices;
    const int first = index % slices * kChannelsPerItem;
    const int channels = std::min(kChannelsPerItem, map.channels - first);
    double* const of_slice = sums + int64_t{n} * map.channels + first;
    const auto accumulate = [&](const PixelRun& run) {
      kernel(map.Pixel(n, run.row, run.begin) + first, map.pixel_stride, run.end - run.begin,
             channels, of_slice);
    };
    if (pixels.is_sparse) {
      std::for_each_n(pixels.runs, pixels.run_count, accumulate);
    } else {
      for (int y = pixels.rows.begin; y < pixels.rows.end; ++y) accumulate({y, 0, map.width});
    }
  });
}

void SumWholeMap(const GlobalPoolArgs& args, const GlobalPoolState& state, ThreadPool& pool) {
  ReduceArgs sum;
  sum.kind = ReduceKind::kSum;
  sum.reduced[2] = true;
  sum.reduced[3] = true;
  sum.input = args.input;
  sum.output = {state.means, 4, args.output.dims, {args.input.dims[1], 1, 1, 1}};
  Reduce(sum, AllPixels(sum.output), pool);
  std::copy_n(state.means, args.output.Count(), state.sums);
}

}  // namespace

void GlobalPoolTakeOut(const GlobalPoolArgs& args, const ActivePixels& pixels,
                       const GlobalPoolState& state, ThreadPool& pool) {
  if (state.updates_left == 0) return;
  AccumulatePixels(AsImage(args.input), pixels, ChooseGlobalPoolKernels().take_out, state.sums,
                   pool);
}

GlobalPoolResult GlobalPoolUpdate(const GlobalPoolArgs& args, const ActivePixels& pixels,
                                  GlobalPoolState& state, ThreadPool& pool) {
  if (state.updates_left != 0) {
    AccumulatePixels(AsImage(args.input), pixels, ChooseGlobalPoolKernels().put_in, state.sums,
                     pool);
  }
  const bool is_whole =
      state.updates_left == 0 || !std::all_of(state.sums, state.sums + args.output.Count(),
                                              [](double sum) { return std::isfinite(sum); });
  if (is_whole) SumWholeMap(args, state, pool);
  state.updates_left = (is_whole ? args.whole_every : state.updates_left) - 1;
  GlobalPoolResult result = CompareMeans(args, state);
  result.was_whole = is_whole;
  return result;
}

}  // namespace cpu
}  // namespace cacheinf
