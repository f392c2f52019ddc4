#ifndef CACHEINF_COMMON_CODEC_BLOCK_CODEC_H_
#define CACHEINF_COMMON_CODEC_BLOCK_CODEC_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/codec/picture_codec.h"
#include "sparse_ops/mask/mask.h"

// Blocks of 16 × 16 pixels of a picture.
//
//   byte 0        0: the blocks as they are, 1: as JPEG
//   bytes 1..4    bytes of the mask
//   then          which blocks follow, as in mask/wire.h
//   then          a picture of these blocks, if any: in row order, as many side by side as in the
//                 whole picture or, if they are fewer, all. Beyond the picture's edge its last
//                 pixels are repeated; the last blocks may be none, and black

namespace cacheinf {

class BlockEncoder {
 public:
  // Quality 0: as they are.
  BlockEncoder(const PictureFormat& format, int jpeg_quality);

  // Those in which a byte is not what it was in the picture before, or all.
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

  // Puts the blocks to their places in `pixels`. Trusts no byte: null, or one sentence on what is
  // wrong; then nothing has changed.
  const char* Decode(std::span<const uint8_t> bytes, bool all, uint8_t* pixels);

 private:
  PictureFormat format_;
  Mask changed_;
  std::vector<uint8_t> blocks_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_BLOCK_CODEC_H_
