#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/functions.h"
#include "sparse_ops/cpu/row_kernels.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/selection.h"

namespace cacheinf::cpu {
namespace {

// Decodes a row of cells: their boxes for one anchor.
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

void Compute(const DecodeBoxesArgs& args, ThreadPool& pool) {
  if (args.output.strides[1] != 1) return reference::Compute(args);
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

namespace {

using Candidate = NonMaxSuppressionArgs::Candidate;

// Collects candidates from the boxes whose numbers are in `row`.
class Collector {
 public:
  Collector(const NonMaxSuppressionArgs& args, int64_t classes)
      : args_(args),
        kernels_(ChooseRowKernels()),
        first_class_(args.first_class()),
        classes_(classes) {}

  void AddIfGood(const float* row, int box) {
    const float* const scores = row + first_class_;
    const auto score_of = [&](float best) { return args_.has_objectness ? row[4] * best : best; };
    if (!(score_of(kernels_.maximum(scores, classes_)) >= args_.score_threshold)) return;
    const int64_t best = kernels_.arg_max(scores, classes_);
    args_.scratch[count_++] = reference::CandidateOf(row, /*stride=*/1, score_of(scores[best]), box,
                                                     static_cast<int>(best));
  }

  int count() const { return count_; }

 private:
  const NonMaxSuppressionArgs& args_;
  const RowKernels& kernels_;
  int first_class_;
  int64_t classes_;
  int count_ = 0;
};

// A number so small that its sigmoid, and that of every smaller one, stays below the threshold by
// more than the sigmoid's rounding.
float SurelyTooSmall(float threshold) {
  if (!(threshold > 0.0f)) return -std::numeric_limits<float>::infinity();
  const double reached = std::min(double{threshold}, 0.99);
  return static_cast<float>(std::log(reached / (1.0 - reached)) - 0.01);
}

// No class scores more than 1, so a box scores at most its objectness: most boxes need not be
// decoded.
int CollectFromHeads(const NonMaxSuppressionArgs& args) {
  const Function sigmoid{Function::Kind::kSigmoid};
  const FunctionKernel squash = ChooseFunctionKernels().function(sigmoid.kind);
  const float too_small = SurelyTooSmall(args.score_threshold);
  const int64_t width = 5 + args.classes;
  Collector collector(args, args.classes);
  int box = 0;
  reference::ForEachCell(
      args.heads, args.head_count, width,
      [&](const DetectionHead& head, int anchor, int y, int x, const reference::BoxCell& cell) {
        if (cell[4] >= too_small) {
          const float* numbers = args.row;
          if (head.is_eight_bit) {
            for (int64_t k = 0; k < width; ++k) args.row[k] = cell[k];
          } else {
            numbers = cell.floats();
          }
          squash(sigmoid, numbers, args.row, width);
          reference::PlaceBox(head, anchor, y, x, /*stride=*/1, args.row);
          collector.AddIfGood(args.row, box);
        }
        ++box;
      });
  return collector.count();
}

int CollectFromRows(const NonMaxSuppressionArgs& args) {
  Collector collector(args, args.input_classes());
  for (int64_t box = 0; box < args.input.dims[0]; ++box) {
    collector.AddIfGood(args.input.data + box * args.input.strides[0], static_cast<int>(box));
  }
  return collector.count();
}

}  // namespace

void Compute(const NonMaxSuppressionArgs& args, ThreadPool&) {
  if (args.heads != nullptr) return reference::KeepBest(args, CollectFromHeads(args));
  if (args.input.strides[1] != 1) return reference::Compute(args);
  reference::KeepBest(args, CollectFromRows(args));
}

}  // namespace cacheinf::cpu
