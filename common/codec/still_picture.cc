#include "common/codec/still_picture.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <stdexcept>
#include <string>

namespace cacheinf {
namespace {

using JpegHandle = std::unique_ptr<void, int (*)(tjhandle)>;

int JpegPixelFormat(const PictureFormat& format) {
  if (format.channels == 1) return TJPF_GRAY;
  return format.is_blue_first ? TJPF_BGR : TJPF_RGB;
}

int ChannelsOf(const png_image& image) {
  if ((image.format & PNG_FORMAT_FLAG_ALPHA) != 0) return 4;
  return (image.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1;
}

}  // namespace

void AppendJpeg(const uint8_t* pixels, const PictureFormat& format, int quality,
                std::vector<uint8_t>* bytes) {
  const JpegHandle handle(tjInitCompress(), tjDestroy);
  const int colours = format.channels == 1 ? TJSAMP_GRAY : TJSAMP_420;
  const size_t begin = bytes->size();
  unsigned long size = tjBufSize(format.width, format.height, colours);
  bytes->resize(begin + size);
  uint8_t* to = bytes->data() + begin;
  if (tjCompress2(handle.get(), pixels, format.width, 0, format.height, JpegPixelFormat(format),
                  &to, &size, colours, quality, TJFLAG_ACCURATEDCT | TJFLAG_NOREALLOC) != 0) {
    throw std::runtime_error(std::string("libjpeg-turbo: ") + tjGetErrorStr2(handle.get()));
  }
  bytes->resize(begin + size);
}

const char* ReadJpeg(std::span<const uint8_t> bytes, const PictureFormat& format,
                     JpegColours colours, uint8_t* pixels) {
  const JpegHandle handle(tjInitDecompress(), tjDestroy);
  int width = 0;
  int height = 0;
  int sampling = 0;
  int space = 0;
  if (tjDecompressHeader3(handle.get(), bytes.data(), bytes.size(), &width, &height, &sampling,
                          &space) != 0) {
    return "a picture is not a JPEG";
  }
  if (width != format.width || height != format.height) return "a JPEG has another size";
  const int flags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS |
                    (colours == JpegColours::kApart ? TJFLAG_FASTUPSAMPLE : 0);
  if (tjDecompress2(handle.get(), bytes.data(), bytes.size(), pixels, width, 0, height,
                    JpegPixelFormat(format), flags) != 0) {
    return "a JPEG is damaged";
  }
  return nullptr;
}

std::optional<StillFormat> FormatOfStill(std::span<const uint8_t> bytes) {
  StillFormat format;
  format.picture.is_blue_first = true;
  const JpegHandle handle(tjInitDecompress(), tjDestroy);
  int sampling = 0;
  int space = 0;
  if (tjDecompressHeader3(handle.get(), bytes.data(), bytes.size(), &format.picture.width,
                          &format.picture.height, &sampling, &space) == 0) {
    format.is_jpeg = true;
    format.picture.channels = space == TJCS_GRAY ? 1 : 3;
    return format;
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> freed(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    return std::nullopt;
  }
  constexpr uint32_t kMost = std::numeric_limits<int>::max();
  format.picture.width = static_cast<int>(std::min(image.width, kMost));
  format.picture.height = static_cast<int>(std::min(image.height, kMost));
  format.picture.channels = ChannelsOf(image);
  format.is_deep = (image.format & PNG_FORMAT_FLAG_LINEAR) != 0;
  return format;
}

void AppendPng(const uint8_t* pixels, const PictureFormat& format, std::vector<uint8_t>* bytes) {
  const cv::Mat picture(format.height, format.width, CV_8UC(format.channels),
                        const_cast<uint8_t*>(pixels));
  std::vector<uint8_t> png;
  // By default OpenCV takes the quickest filter and zlib's quickest level.
  if (!cv::imencode(".png", picture, png)) throw std::runtime_error("a PNG could not be written");
  bytes->insert(bytes->end(), png.begin(), png.end());
}

const char* ReadPng(std::span<const uint8_t> bytes, const PictureFormat& format, uint8_t* pixels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> freed(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    return "a picture is not a PNG";
  }
  if (image.width != static_cast<uint32_t>(format.width) ||
      image.height != static_cast<uint32_t>(format.height) ||
      ChannelsOf(image) != format.channels) {
    return "a PNG has another size";
  }
  image.format = format.channels == 1   ? PNG_FORMAT_GRAY
                 : format.channels == 3 ? PNG_FORMAT_BGR  // imencode's order
                                        : PNG_FORMAT_BGRA;
  const int row_bytes = format.width * format.channels;
  if (png_image_finish_read(&image, nullptr, pixels, row_bytes, nullptr) == 0) {
    return "a PNG is damaged";
  }
  return nullptr;
}

}  // namespace cacheinf
