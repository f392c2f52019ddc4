#include "common/codec/still_picture.h"

#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
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
  const auto fail = [](png_struct*, const char* message) {
    throw std::runtime_error(std::string("libpng: ") + message);
  };
  struct Writer {
    png_struct* png;
    png_info* info = nullptr;
    ~Writer() { png_destroy_write_struct(&png, &info); }
  } writer = {png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, fail)};
  if (writer.png != nullptr) writer.info = png_create_info_struct(writer.png);
  if (writer.info == nullptr) throw std::bad_alloc();
  png_set_write_fn(
      writer.png, bytes,
      [](png_struct* png, uint8_t* data, size_t size) {
        auto* const to = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
        to->insert(to->end(), data, data + size);
      },
      nullptr);
  // The quickest filter that makes camera pictures smaller.
  png_set_filter(writer.png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  png_set_compression_level(writer.png, Z_BEST_SPEED);
  png_set_compression_strategy(writer.png, Z_RLE);
  png_set_IHDR(writer.png, writer.info, static_cast<uint32_t>(format.width),
               static_cast<uint32_t>(format.height), 8,
               format.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  png_set_bgr(writer.png);
  const ptrdiff_t row_bytes = static_cast<ptrdiff_t>(format.width) * format.channels;
  for (int y = 0; y < format.height; ++y) png_write_row(writer.png, pixels + y * row_bytes);
  png_write_end(writer.png, writer.info);
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
                 : format.channels == 3 ? PNG_FORMAT_BGR  // AppendPng's order
                                        : PNG_FORMAT_BGRA;
  const int row_bytes = format.width * format.channels;
  if (png_image_finish_read(&image, nullptr, pixels, row_bytes, nullptr) == 0) {
    return "a PNG is damaged";
  }
  return nullptr;
}

}  // namespace cacheinf
