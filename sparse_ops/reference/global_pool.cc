#include "sparse_ops/reference/global_pool.h"

#include <cmath>

#include "sparse_ops/ops.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace reference {
namespace {

// fn(channel of all images, number) for every number of the pixels, pixel after pixel.
template <typename Fn>
void ForEachNumber(const ConstImageView& map, const ActivePixels& pixels, const Fn& fn) {
  const auto of_run = [&](const PixelRun& run) {
    for (int x = run.begin; x < run.end; ++x) {
      for (int n = 0; n < map.batch; ++n) {
        for (int c = 0; c < map.channels; ++c) {
          fn(n * map.channels + c, map.Pixel(n, run.row, x)[c]);
        }
      }
    }
  };
  if (pixels.is_sparse) {
    for (int i = 0; i < pixels.run_count; ++i) of_run(pixels.runs[i]);
  } else {
    for (int y = pixels.rows.begin; y < pixels.rows.end; ++y) of_run({y, 0, map.width});
  }
}

int CountSums(const GlobalPoolArgs& args) {
  return static_cast<int>(args.input.dims[0] * args.input.dims[1]);
}

void SumWholeMap(const GlobalPoolArgs& args, const GlobalPoolState& state) {
  ReduceArgs sum;
  sum.kind = ReduceKind::kSum;
  sum.reduced[2] = true;
  sum.reduced[3] = true;
  sum.input = args.input;
  sum.output = {state.means, 4, args.output.dims, {args.input.dims[1], 1, 1, 1}};
  Reduce(sum);
  for (int i = 0; i < CountSums(args); ++i) state.sums[i] = state.means[i];
}

bool AreFinite(const double* sums, int count) {
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(sums[i])) return false;
  }
  return true;
}

}  // namespace

void GlobalPoolTakeOut(const GlobalPoolArgs& args, const ActivePixels& pixels,
                       const GlobalPoolState& state) {
  if (state.updates_left == 0) return;
  ForEachNumber(AsImage(args.input), pixels,
                [&](int i, float number) { state.sums[i] -= static_cast<double>(number); });
}

GlobalPoolResult GlobalPoolUpdate(const GlobalPoolArgs& args, const ActivePixels& pixels,
                                  GlobalPoolState& state) {
  const int count = CountSums(args);
  if (state.updates_left != 0) {
    ForEachNumber(AsImage(args.input), pixels,
                  [&](int i, float number) { state.sums[i] += static_cast<double>(number); });
  }
  const bool is_whole = state.updates_left == 0 || !AreFinite(state.sums, count);
  if (is_whole) SumWholeMap(args, state);
  state.updates_left = (is_whole ? args.whole_every : state.updates_left) - 1;
  GlobalPoolResult result = CompareMeans(args, state);
  result.was_whole = is_whole;
  return result;
}

}  // namespace reference
}  // namespace cacheinf
