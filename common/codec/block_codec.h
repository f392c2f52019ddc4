#ifndef CACHEINF_COMMON_CODEC_BLOCK_CODEC_H_
#define CACHEINF_COMMON_CODEC_BLOCK_CODEC_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/codec/picture_codec.h"
#include "sparse_ops/mask/mask.h"

// Blocks of 16 × 16 pixels of a picture.
//
//   byte 0        0: plain blocks, 1: as JPEG
//   bytes 1..4    bytes of the mask
//   then          which blocks follow, as in mask/wire.h
//   then          a picture of these blocks, if any: in row order, as many side by side as in the
//                 whole picture or, if they are fewer, all. Beyond the picture's edge its last
//                 pixels are repeated; places that no block fills are black

namespace cacheinf {

class BlockEncoder {
 public:
  // Quality 0: plain blocks.
  BlockEncoder(const PictureFormat& format, int jpeg_quality);

  // Adds the blocks with a byte that differs from the previous picture, or all.
  void Append(const uint8_t* pixels, bool all, std::vector<uint8_t>* bytes);

 private:
  PictureFormat format_;
  int jpeg_quality_ = 0;
  std::vector<uint8_t> before_;
  Mask changed_;
  std::vector<uint8_t> blocks_;
};

class BlockDecoder {
 public:
  explicit BlockDecoder(const PictureFormat& format);

  // Puts the blocks into their places in `pixels`. Trusts no byte. Returns null, or one sentence on
  // what is wrong, having changed nothing.
  const char* Decode(std::span<const uint8_t> bytes, bool all, uint8_t* pixels);

 private:
  PictureFormat format_;
  Mask changed_;
  std::vector<uint8_t> blocks_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_BLOCK_CODEC_H_
