#ifndef CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_

#include <cstdint>

#include "sparse_ops/ops.h"

// The steps of decoding and of suppression that deal with few numbers, for other implementations.

namespace cacheinf {
namespace reference {

// Puts centre and size of a box where the four numbers lie that they are made of: `row` holds s, as
// DecodeBoxesArgs says, and its numbers lie `stride` apart.
void PlaceBox(const DetectionHead& head, int anchor, int y, int x, int64_t stride, float* row);

// From the candidates at the front of the scratch, in any order, to the output.
void KeepBest(const NonMaxSuppressionArgs& args, int candidates);

}  // namespace reference
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_SELECTION_H_
