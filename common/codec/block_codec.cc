#include "common/codec/block_codec.h"

#include <algorithm>
#include <cstring>
#include <opencv2/core.hpp>

#include "common/base/little_endian.h"
#include "common/codec/still_picture.h"
#include "sparse_ops/mask/wire.h"

namespace cacheinf {
namespace {

constexpr int kSide = 16;
constexpr size_t kBlocksHeaderBytes = 5;

Mask MaskOfBlocks(const PictureFormat& format) {
  const auto blocks = [](int pixels) { return (pixels + kSide - 1) / kSide; };
  return {blocks(format.height), blocks(format.width)};
}

cv::Mat MatOf(const uint8_t* pixels, const PictureFormat& format) {
  return {format.height, format.width, CV_8UC(format.channels), const_cast<uint8_t*>(pixels)};
}

// A block's pixels within the picture.
cv::Rect PlaceOf(int y, int x, const PictureFormat& format) {
  return cv::Rect(x * kSide, y * kSide, kSide, kSide) & cv::Rect(0, 0, format.width, format.height);
}

// The format of the picture made of some blocks.
PictureFormat FormatOf(ConstMaskView blocks, const PictureFormat& whole) {
  const auto count = static_cast<int>(CountActive(blocks));
  const int columns = std::max(1, std::min(count, blocks.width));
  PictureFormat format = whole;
  format.width = kSide * columns;
  format.height = kSide * ((count + columns - 1) / columns);
  return format;
}

// Calls visit(y, x, number) for the mask's blocks: 0, 1, 2, …
void ForEachBlock(ConstMaskView mask, const auto& visit) {
  int index = 0;
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) {
      if (mask.Test(y, x)) visit(y, x, index++);
    }
  }
}

bool Differ(const cv::Mat& a, const cv::Mat& b) {
  const size_t row_bytes = static_cast<size_t>(a.cols) * a.elemSize();
  for (int y = 0; y < a.rows; ++y) {
    if (std::memcmp(a.ptr(y), b.ptr(y), row_bytes) != 0) return true;
  }
  return false;
}

}  // namespace

BlockEncoder::BlockEncoder(const PictureFormat& format, int jpeg_quality)
    : format_(format),
      jpeg_quality_(jpeg_quality),
      before_(format.byte_count()),
      changed_(MaskOfBlocks(format)) {}

void BlockEncoder::Append(const uint8_t* pixels, bool all, std::vector<uint8_t>* bytes) {
  const cv::Mat picture = MatOf(pixels, format_);
  const cv::Mat before = MatOf(before_.data(), format_);
  const MaskView mask = changed_;
  SetAll(mask);
  ForEachBlock(mask, [&](int y, int x, int) {
    const cv::Rect place = PlaceOf(y, x, format_);
    if (!all && !Differ(picture(place), before(place))) mask.Clear(y, x);
  });
  std::memcpy(before_.data(), pixels, before_.size());

  bytes->push_back(jpeg_quality_ > 0 ? 1 : 0);
  std::vector<uint8_t> mask_bytes(MaxEncodedMaskBytes(mask.height, mask.width));
  mask_bytes.resize(EncodeMask(mask, mask_bytes.data()));
  AppendLittleEndian(static_cast<uint32_t>(mask_bytes.size()), bytes);
  bytes->insert(bytes->end(), mask_bytes.begin(), mask_bytes.end());

  const PictureFormat format = FormatOf(mask, format_);
  if (format.height == 0) return;
  blocks_.assign(format.byte_count(), 0);
  const cv::Mat blocks = MatOf(blocks_.data(), format);
  const int columns = format.width / kSide;
  ForEachBlock(mask, [&](int y, int x, int index) {
    const cv::Rect from = PlaceOf(y, x, format_);
    cv::Mat block =
        blocks(cv::Rect(index % columns * kSide, index / columns * kSide, kSide, kSide));
    cv::copyMakeBorder(picture(from), block, 0, kSide - from.height, 0, kSide - from.width,
                       cv::BORDER_REPLICATE | cv::BORDER_ISOLATED);
  });
  if (jpeg_quality_ > 0) {
    AppendJpeg(blocks_.data(), format, jpeg_quality_, bytes);
  } else {
    bytes->insert(bytes->end(), blocks_.begin(), blocks_.end());
  }
}

BlockDecoder::BlockDecoder(const PictureFormat& format)
    : format_(format), changed_(MaskOfBlocks(format)) {}

const char* BlockDecoder::Decode(std::span<const uint8_t> bytes, bool all, uint8_t* pixels) {
  if (bytes.size() < kBlocksHeaderBytes || bytes[0] > 1) return "a picture's blocks have no header";
  const size_t mask_bytes = LittleEndianAt<uint32_t>(&bytes[1]);
  const bool is_jpeg = bytes[0] == 1;
  bytes = bytes.subspan(kBlocksHeaderBytes);
  if (mask_bytes > bytes.size()) return "a picture's blocks end within their mask";
  const MaskView mask = changed_;
  if (const char* error = DecodeMask(bytes.data(), mask_bytes, mask)) return error;
  if (all && CountActive(mask) != mask.pixel_count()) return "a whole picture lacks blocks";
  bytes = bytes.subspan(mask_bytes);

  const PictureFormat format = FormatOf(mask, format_);
  blocks_.resize(format.byte_count());
  if (is_jpeg && format.height > 0) {
    const char* error = ReadJpeg(bytes, format, JpegColours::kApart, blocks_.data());
    if (error != nullptr) return error;
  } else {
    if (bytes.size() != blocks_.size()) return "a picture does not have as many blocks as its mask";
    std::copy(bytes.begin(), bytes.end(), blocks_.begin());
  }
  const cv::Mat picture = MatOf(pixels, format_);
  const cv::Mat blocks = MatOf(blocks_.data(), format);
  const int columns = format.width / kSide;
  ForEachBlock(mask, [&](int y, int x, int index) {
    const cv::Rect to = PlaceOf(y, x, format_);
    const cv::Point from(index % columns * kSide, index / columns * kSide);
    blocks(cv::Rect(from, to.size())).copyTo(picture(to));
  });
  return nullptr;
}

}  // namespace cacheinf
