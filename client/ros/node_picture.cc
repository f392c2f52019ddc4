#include "client/ros/node_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/codec/still_picture.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

constexpr int kCopy = -1;

// How an encoding's bytes become a picture.
struct Encoding {
  std::string_view name;
  int channels;    // of 8 bits each
  int conversion;  // cv::ColorConversionCodes, or kCopy
  int cell = 1;    // width and height are multiples of
  int cell_height = 1;
};

// OpenCV names a mosaic by its pixels from the second row and second column on.
constexpr std::array kEncodings = {
    Encoding{"rgb8", 3, cv::COLOR_RGB2BGR},
    Encoding{"bgr8", 3, kCopy},
    Encoding{"rgba8", 4, cv::COLOR_RGBA2BGR},
    Encoding{"bgra8", 4, cv::COLOR_BGRA2BGR},
    Encoding{"mono8", 1, kCopy},
    Encoding{"yuv422", 2, cv::COLOR_YUV2BGR_UYVY, 2},
    Encoding{"uyvy", 2, cv::COLOR_YUV2BGR_UYVY, 2},
    Encoding{"yuv422_yuy2", 2, cv::COLOR_YUV2BGR_YUY2, 2},
    Encoding{"yuyv", 2, cv::COLOR_YUV2BGR_YUY2, 2},
    Encoding{"bayer_rggb8", 1, cv::COLOR_BayerBG2BGR, 2, 2},
    Encoding{"bayer_bggr8", 1, cv::COLOR_BayerRG2BGR, 2, 2},
    Encoding{"bayer_gbrg8", 1, cv::COLOR_BayerGR2BGR, 2, 2},
    Encoding{"bayer_grbg8", 1, cv::COLOR_BayerGB2BGR, 2, 2},
};

const Encoding& Find(std::string_view name) {
  const auto* const found = std::ranges::find(kEncodings, name, &Encoding::name);
  if (found != kEncodings.end()) return *found;
  std::string known;
  for (const Encoding& encoding : kEncodings) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", encoding.name);
  }
  // The text may be anything that somebody sent.
  constexpr size_t kMostShown = 40;
  std::string shown(name.substr(0, kMostShown));
  std::ranges::replace_if(
      shown, [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  throw InputError(fmt::format("images of encoding '{}' are not taken, only {}", shown, known));
}

void CheckSize(int64_t width, int64_t height) {
  if (width < 1 || height < 1) {
    throw InputError(fmt::format("an image of {}x{} pixels shows nothing", width, height));
  }
  if (width > kMostNodePixels || height > kMostNodePixels || width * height > kMostNodePixels) {
    throw InputError(fmt::format("an image of {}x{} pixels is too large: it may have {} in all",
                                 width, height, kMostNodePixels));
  }
}

Picture RawPicture(const NodeImage& image) {
  const Encoding& encoding = Find(image.encoding);
  CheckSize(image.width, image.height);
  if (image.width % encoding.cell != 0 || image.height % encoding.cell_height != 0) {
    throw InputError(
        fmt::format("an image of {}x{} pixels cannot have encoding {}, which takes "
                    "{}x{} of them together",
                    image.width, image.height, encoding.name, encoding.cell, encoding.cell_height));
  }
  const auto size = static_cast<int64_t>(image.bytes.size());
  if (image.row_bytes < image.width * encoding.channels) {
    throw InputError(fmt::format("rows of {} bytes are too short for {} pixels of encoding {}",
                                 image.row_bytes, image.width, encoding.name));
  }
  if (image.row_bytes > size || image.row_bytes * image.height != size) {
    throw InputError(
        fmt::format("{} bytes are not {} rows of {} bytes", size, image.height, image.row_bytes));
  }
  const cv::Mat pixels(static_cast<int>(image.height), static_cast<int>(image.width),
                       CV_8UC(encoding.channels), const_cast<uint8_t*>(image.bytes.data()),
                       static_cast<size_t>(image.row_bytes));
  cv::Mat converted;
  if (encoding.conversion == kCopy) {
    pixels.copyTo(converted);
  } else {
    cv::cvtColor(pixels, converted, encoding.conversion);
  }
  return PictureFrom(converted);
}

Picture CompressedPicture(std::span<const uint8_t> bytes) {
  constexpr size_t kMostBytes = size_t{1} << 30;
  if (bytes.size() > kMostBytes) {
    throw InputError(fmt::format("a compressed image of {} bytes is too large", bytes.size()));
  }
  const std::optional<StillFormat> format = FormatOfStill(bytes);
  if (!format) throw InputError("a compressed image is neither a JPEG nor a PNG");
  const PictureFormat& picture = format->picture;
  CheckSize(picture.width, picture.height);
  if (format->is_deep) throw InputError("a compressed image has 16 bits a channel, not 8");
  std::vector<uint8_t> pixels(picture.byte_count());
  const char* const wrong = format->is_jpeg
                                ? ReadJpeg(bytes, picture, JpegColours::kSmooth, pixels.data())
                                : ReadPng(bytes, picture, pixels.data());
  if (wrong != nullptr) throw InputError(fmt::format("a compressed image is refused: {}", wrong));
  if (picture.channels != 4) {
    return MakePicture(picture.width, picture.height, picture.channels, std::move(pixels));
  }
  cv::Mat without_opacity;
  cv::cvtColor(cv::Mat(picture.height, picture.width, CV_8UC4, pixels.data()), without_opacity,
               cv::COLOR_BGRA2BGR);
  return PictureFrom(without_opacity);
}

}  // namespace

Picture PictureOf(const NodeImage& image) {
  try {
    return image.is_compressed ? CompressedPicture(image.bytes) : RawPicture(image);
  } catch (const cv::Exception& error) {
    throw InputError(fmt::format("an image cannot be converted: {}", error.what()));
  }
}

}  // namespace cacheinf
