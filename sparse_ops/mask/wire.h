#ifndef CACHEINF_SPARSE_OPS_MASK_WIRE_H_
#define CACHEINF_SPARSE_OPS_MASK_WIRE_H_

#include <cstddef>
#include <cstdint>

#include "sparse_ops/views.h"

// Masks as bytes, lossless and small, for files and links. Equal masks make equal bytes.
//
//   bytes 0..1    'M', version 1
//   byte 2        form
//   byte 3        0
//   bytes 4..7    height, bytes 8..11 width, bytes 12..15 payload bytes (little-endian)
//   then          the payload, by form:
//     0 empty, 1 full   nothing
//     2 runs            pixels skipped, pixels active, pixels skipped, … in row order, the last
//                       number being a run's; each as 7 bits a byte, lowest first, the top bit
//                       saying that more follow. Only the first may be 0.
//     3 edges           the same of the mask in which a row says where it differs from the row
//     above 4 bits            rows of ceil(width / 8) bytes, column x at bit x % 8 of byte x / 8
//
// The encoder takes the form with the fewest bytes; of equals, the first. Each form has exactly one
// payload per mask; readers refuse all others.

namespace cacheinf {

class Mask;

// The most bytes that a mask of this size takes.
constexpr size_t MaxEncodedMaskBytes(int height, int width) {
  return 16 + static_cast<size_t>(height) * ((static_cast<size_t>(width) + 7) / 8);
}

// Writes a mask; returns how many bytes it took.
// REQUIRES: room for MaxEncodedMaskBytes, at least one pixel and fewer than 2^31.
size_t EncodeMask(ConstMaskView mask, uint8_t* bytes);

// The functions below do not trust the bytes. They return null, or one sentence that says what is
// wrong; then the output is unchanged. All bytes must belong to the mask.

// Reads a mask of the size of `mask`, allocating nothing.
const char* DecodeMask(const uint8_t* bytes, size_t size, MaskView mask);

// Reads a mask of any size that takes at most `max_words` words (MaskWords).
const char* DecodeMask(const uint8_t* bytes, size_t size, size_t max_words, Mask* mask);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_MASK_WIRE_H_
