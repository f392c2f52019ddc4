#include <cstring>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/functions.h"
#include "sparse_ops/cpu/row_kernels.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/selection.h"

namespace cacheinf {
namespace cpu {
namespace {

// A row of cells: their boxes of one anchor.
void DecodeRow(const DecodeBoxesArgs& args, const DetectionHead& head, int anchor, int y,
               float* out) {
  const Function sigmoid{Function::Kind::kSigmoid};
  const FunctionKernel squash = ChooseFunctionKernels().function(sigmoid.kind);
  const int64_t width = args.output.dims[1];
  for (int x = 0; x < head.map.width; ++x, out += args.output.strides[0]) {
    const float* const cell = head.map.Pixel(0, y, x) + anchor * width;
    if (args.apply_sigmoid) {
      squash(sigmoid, cell, out, width);
    } else {
      std::memcpy(out, cell, static_cast<size_t>(width) * sizeof(float));
    }
    reference::PlaceBox(head, anchor, y, x, /*stride=*/1, out);
  }
}

}  // namespace

void DecodeBoxes(const DecodeBoxesArgs& args, ThreadPool& pool) {
  if (args.output.strides[1] != 1) return reference::DecodeBoxes(args);
  float* out = args.output.data;
  for (int h = 0; h < args.head_count; ++h) {
    const DetectionHead& head = args.heads[h];
    const int rows = head.map.height;
    const int64_t row_floats = head.map.width * args.output.strides[0];
    pool.ParallelFor(head.anchor_count * rows, [&](int item, int) {
      DecodeRow(args, head, item / rows, item % rows, out + item * row_floats);
    });
    out += head.anchor_count * rows * row_floats;
  }
}

void NonMaxSuppression(const NonMaxSuppressionArgs& args) {
  if (args.input.strides[1] != 1) return reference::NonMaxSuppression(args);
  const RowKernels& kernels = ChooseRowKernels();
  const int64_t classes = args.input.dims[1] - 5;
  int count = 0;
  for (int64_t box = 0; box < args.input.dims[0]; ++box) {
    const float* const row = args.input.data + box * args.input.strides[0];
    const float* const scores = row + 5;
    if (!(row[4] * kernels.maximum(scores, classes) >= args.score_threshold)) continue;
    const int64_t best = kernels.arg_max(scores, classes);
    args.scratch[count++] = {row[4] * scores[best], static_cast<int>(box), static_cast<int>(best)};
  }
  reference::KeepBest(args, count);
}

}  // namespace cpu
}  // namespace cacheinf
