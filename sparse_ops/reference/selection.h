#ifndef CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_

#include <cstdint>

#include "sparse_ops/ops.h"

// The cheap steps of decoding and suppression, shared with other implementations.

namespace cacheinf::reference {

// Replaces the first four numbers of a row by the centre and size of the box that they stand for.
// `row` holds s, as DecodeBoxesArgs says, with numbers `stride` apart.
void PlaceBox(const DetectionHead& head, int anchor, int y, int x, int64_t stride, float* row);

// The box that a row of DecodeBoxes describes, with numbers `stride` apart.
NonMaxSuppressionArgs::Candidate CandidateOf(const float* row, int64_t stride, float score, int box,
                                             int label);

// Calls fn(head, anchor, y, x, cell) for every box in the order of DecodeBoxes; `cell` points to
// its `width` numbers.
void ForEachCell(const DetectionHead* heads, int head_count, int64_t width, const auto& fn) {
  for (int h = 0; h < head_count; ++h) {
    const DetectionHead& head = heads[h];
    for (int anchor = 0; anchor < head.anchor_count; ++anchor) {
      for (int y = 0; y < head.map.height; ++y) {
        for (int x = 0; x < head.map.width; ++x) {
          fn(head, anchor, y, x, head.map.Pixel(0, y, x) + anchor * width);
        }
      }
    }
  }
}

// Writes the output from the candidates at the front of the scratch, which may be in any order.
void KeepBest(const NonMaxSuppressionArgs& args, int candidates);

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_
