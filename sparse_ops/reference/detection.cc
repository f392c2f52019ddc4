#include <algorithm>
#include <cmath>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/selection.h"

namespace cacheinf::reference {
namespace {

using Candidate = NonMaxSuppressionArgs::Candidate;

float Area(float left, float top, float right, float bottom) {
  return std::max(right - left, 0.0f) * std::max(bottom - top, 0.0f);
}

float Area(const Candidate& box) { return Area(box.left, box.top, box.right, box.bottom); }

bool Overlap(const Candidate& a, const Candidate& b, float threshold) {
  const float intersection = Area(std::max(a.left, b.left), std::max(a.top, b.top),
                                  std::min(a.right, b.right), std::min(a.bottom, b.bottom));
  const float both = (Area(a) + Area(b)) - intersection;
  return intersection > threshold * both;
}

void DecodeCell(const DetectionHead& head, const BoxCell& cell, int y, int x, int anchor,
                bool apply_sigmoid, int64_t width, int64_t out_stride, float* out) {
  const Function sigmoid{Function::Kind::kSigmoid};
  for (int64_t k = 0; k < width; ++k) {
    out[k * out_stride] = apply_sigmoid ? Apply(sigmoid, cell[k]) : cell[k];
  }
  PlaceBox(head, anchor, y, x, out_stride, out);
}

}  // namespace

void PlaceBox(const DetectionHead& head, int anchor, int y, int x, int64_t stride, float* row) {
  const auto step = static_cast<float>(head.stride);
  const auto centre = [&](float s, int cell) {
    return (std::fma(2.0f, s, -0.5f) + static_cast<float>(cell)) * step;
  };
  const auto extent = [&](float s, float anchor_extent) {
    const float twice = 2.0f * s;
    return twice * twice * anchor_extent;
  };
  row[0] = centre(row[0], x);
  row[stride] = centre(row[stride], y);
  row[2 * stride] = extent(row[2 * stride], head.anchors[2 * anchor]);
  row[3 * stride] = extent(row[3 * stride], head.anchors[2 * anchor + 1]);
}

// The corners of a box, from its centre and size.
Candidate CandidateOf(const float* row, int64_t stride, float score, int box, int label) {
  const float half_width = row[2 * stride] * 0.5f;
  const float half_height = row[3 * stride] * 0.5f;
  return {score,
          box,
          label,
          row[0] - half_width,
          row[stride] - half_height,
          row[0] + half_width,
          row[stride] + half_height};
}

void Compute(const DecodeBoxesArgs& args) {
  const int64_t width = args.output.dims[1];
  float* out = args.output.data;
  ForEachCell(args.heads, args.head_count, width,
              [&](const DetectionHead& head, int anchor, int y, int x, const BoxCell& cell) {
                DecodeCell(head, cell, y, x, anchor, args.apply_sigmoid, width,
                           args.output.strides[1], out);
                out += args.output.strides[0];
              });
}

namespace {

// Adds the box that `row` describes, with numbers `stride` apart, if it scores enough.
void AddIfGood(const NonMaxSuppressionArgs& args, const float* row, int64_t stride, int64_t classes,
               int box, int* count) {
  const auto class_score = [&](int64_t label) {
    return row[(args.first_class() + label) * stride];
  };
  int64_t best = 0;
  for (int64_t label = 1; label < classes; ++label) {
    const bool is_first_nan = std::isnan(class_score(label)) && !std::isnan(class_score(best));
    if (class_score(label) > class_score(best) || is_first_nan) best = label;
  }
  const float score = args.has_objectness ? row[4 * stride] * class_score(best) : class_score(best);
  if (!(score >= args.score_threshold)) return;
  args.scratch[(*count)++] = CandidateOf(row, stride, score, box, static_cast<int>(best));
}

int CollectFromHeads(const NonMaxSuppressionArgs& args) {
  int count = 0;
  int box = 0;
  ForEachCell(args.heads, args.head_count, 5 + args.classes,
              [&](const DetectionHead& head, int anchor, int y, int x, const BoxCell& cell) {
                DecodeCell(head, cell, y, x, anchor, /*apply_sigmoid=*/true, 5 + args.classes,
                           /*out_stride=*/1, args.row);
                AddIfGood(args, args.row, /*stride=*/1, args.classes, box++, &count);
              });
  return count;
}

int CollectFromRows(const NonMaxSuppressionArgs& args) {
  const ConstTensorView& input = args.input;
  int count = 0;
  for (int64_t box = 0; box < input.dims[0]; ++box) {
    AddIfGood(args, input.data + box * input.strides[0], input.strides[1], args.input_classes(),
              static_cast<int>(box), &count);
  }
  return count;
}

}  // namespace

void Compute(const NonMaxSuppressionArgs& args) {
  KeepBest(args, args.heads != nullptr ? CollectFromHeads(args) : CollectFromRows(args));
}

namespace {

float Extra(const NonMaxSuppressionArgs& args, int box, int extra) {
  const ConstTensorView& input = args.input;
  const int64_t number = input.dims[1] - args.extras + extra;
  return input.data[box * input.strides[0] + number * input.strides[1]];
}

}  // namespace

void KeepBest(const NonMaxSuppressionArgs& args, int candidates) {
  std::sort(args.scratch, args.scratch + candidates, [](const auto& a, const auto& b) {
    return a.score != b.score ? a.score > b.score : a.box < b.box;
  });
  const int64_t max_boxes = args.output.dims[0];
  // Kept candidates move to the front of the scratch, so `kept` never passes `i`.
  int kept = 0;
  for (int i = 0; i < candidates && kept < max_boxes; ++i) {
    const Candidate candidate = args.scratch[i];
    const bool is_covered = std::any_of(args.scratch, args.scratch + kept, [&](const auto& other) {
      return other.label == candidate.label && Overlap(other, candidate, args.overlap_threshold);
    });
    if (!is_covered) args.scratch[kept++] = candidate;
  }
  for (int64_t i = 0; i < max_boxes; ++i) {
    float row[6] = {};
    if (i < kept) {
      const Candidate& box = args.scratch[i];
      const float found[6] = {box.left,   box.top,   box.right,
                              box.bottom, box.score, static_cast<float>(box.label)};
      std::copy_n(found, 6, row);
    }
    float* const out = args.output.data + i * args.output.strides[0];
    for (int k = 0; k < 6; ++k) out[k * args.output.strides[1]] = row[k];
    for (int k = 0; k < args.extras; ++k) {
      out[(6 + k) * args.output.strides[1]] = i < kept ? Extra(args, args.scratch[i].box, k) : 0.0f;
    }
  }
}

}  // namespace cacheinf::reference
