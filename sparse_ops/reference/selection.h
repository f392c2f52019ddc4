#ifndef CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_

#include <cstdint>

#include "sparse_ops/eight_bits.h"
#include "sparse_ops/ops.h"

// The cheap steps of decoding and suppression, shared with other implementations.

namespace cacheinf::reference {

// Replaces the first four numbers of a row by the centre and size of the box that they stand for.
// `row` holds s, as DecodeBoxesArgs says, with numbers `stride` apart.
void PlaceBox(const DetectionHead& head, int anchor, int y, int x, int64_t stride, float* row);

// The box that a row of DecodeBoxes describes, with numbers `stride` apart.
NonMaxSuppressionArgs::Candidate CandidateOf(const float* row, int64_t stride, float score, int box,
                                             int label);

// The numbers of a box, in its head's map.
class BoxCell {
 public:
  BoxCell(const DetectionHead& head, int y, int x, int64_t first)
      : head_(head), pixel_(head.map.Pixel(0, y, x)), first_(first) {}

  float operator[](int64_t k) const {
    if (!head_.is_eight_bit) return pixel_[first_ + k];
    const int q = ByteOf(pixel_, static_cast<int>(first_ + k), head_.steps.is_signed);
    return FromSteps(q, head_.steps);
  }

  const float* floats() const { return pixel_ + first_; }  // REQUIRES: no 8-bit head

 private:
  const DetectionHead& head_;
  const float* pixel_;
  int64_t first_;
};

// Calls fn(head, anchor, y, x, cell) for every box in the order of DecodeBoxes; each has `width`
// numbers.
void ForEachCell(const DetectionHead* heads, int head_count, int64_t width, const auto& fn) {
  for (int h = 0; h < head_count; ++h) {
    const DetectionHead& head = heads[h];
    for (int anchor = 0; anchor < head.anchor_count; ++anchor) {
      for (int y = 0; y < head.map.height; ++y) {
        for (int x = 0; x < head.map.width; ++x) {
          fn(head, anchor, y, x, BoxCell(head, y, x, anchor * width));
        }
      }
    }
  }
}

// Writes the output from the candidates at the front of the scratch, which may be in any order.
void KeepBest(const NonMaxSuppressionArgs& args, int candidates);

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_
