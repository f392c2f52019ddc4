#ifndef CACHEINF_COMMON_EXEC_SLICE_H_
#define CACHEINF_COMMON_EXEC_SLICE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/backend/backend.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

// A slice: some pixels of some rows of a value, as bytes for the other side.
//
//   bytes 0..1    'S', version 1
//   bytes 2..3    0
//   bytes 4..7    the value's number
//   bytes 8..11   first row, bytes 12..15 one past the last row
//   bytes 16..19  size of the mask in bytes
//   then          which pixels of these rows follow, as in mask/wire.h
//   then          their numbers, 32-bit floats, pixel by pixel in row order, all channels, image
//                 after image; if it is not a map, all numbers in logical order
//
// All little-endian.

namespace cacheinf {

// `pixels` covers these rows only; a value that is not a map has one pixel.
void AppendSlice(Backend& backend, const ConstTensorView& value, ValueId id, Range rows,
                 ConstMaskView pixels, std::vector<uint8_t>* bytes);
// The same for numbers that are on the host.
void AppendSlice(ValueId id, Range rows, ConstMaskView pixels, std::span<const float> numbers,
                 std::vector<uint8_t>* bytes);

// Puts the numbers into `value` and marks their places in `pixels`, which covers these rows only.
// Trusts no byte. Returns null, or one sentence on what is wrong, in which case `value` has not
// changed. REQUIRES: rows within the value.
const char* ReadSlice(Backend& backend, std::span<const uint8_t> bytes, ValueId id, Range rows,
                      MaskView pixels, const TensorView& value);

// Takes a slice of all of a value, as numbers in its logical order. Returns as ReadSlice does; a
// slice that leaves pixels out is wrong.
const char* ReadWholeSlice(std::span<const uint8_t> bytes, ValueId id, const Value& value,
                           std::vector<float>* numbers);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_SLICE_H_
