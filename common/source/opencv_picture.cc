#include "common/source/opencv_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/module.h"
#include "common/codec/still_picture.h"
#include "common/source/opencv_files.h"

namespace cacheinf {

namespace {

constexpr uint64_t kLargestFile = uint64_t{1} << 30;

// As 8-bit grey or blue, green, red. Shares the pixels if they are that already.
cv::Mat Converted(const cv::Mat& image) {
  cv::Mat converted;
  switch (image.type()) {
    case CV_8UC1:
    case CV_8UC3:
      return image;
    case CV_8UC4:
      cv::cvtColor(image, converted, cv::COLOR_BGRA2BGR);
      return converted;
    case CV_8UC2:
      if (image.cols % 2 != 0) break;
      cv::cvtColor(image, converted, cv::COLOR_YUV2BGR_YUY2);
      return converted;
    case CV_16UC1:
    case CV_16UC3:
      image.convertTo(converted, CV_8U, 255.0 / 65535.0);
      return converted;
    default:
      break;
  }
  throw InputError(
      fmt::format("pictures of type {} are not supported, only grey, BGR, BGRA and YUYV of 8 bits "
                  "and grey and BGR of 16 bits",
                  cv::typeToString(image.type())));
}

// The level that a PGM or PPM file calls white, where OpenCV does not see to that. 0: it does, or
// the file is another.
int WhiteOf(std::string_view bytes) {
  const bool is_text = bytes.starts_with("P2") || bytes.starts_with("P3");
  if (!is_text && !bytes.starts_with("P5") && !bytes.starts_with("P6")) return 0;
  bytes.remove_prefix(2);
  int number = 0;
  for (int i = 0; i < 3; ++i) {  // width, height, white
    while (!bytes.empty() && (bytes.front() < '0' || bytes.front() > '9')) {
      const size_t last = bytes.front() == '#' ? bytes.find_first_of("\r\n") : 0;
      bytes.remove_prefix(std::min(last, bytes.size() - 1) + 1);
    }
    const auto [stop, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
    if (error != std::errc()) return 0;
    bytes.remove_prefix(static_cast<size_t>(stop - bytes.data()));
  }
  return is_text && number <= 255 ? 0 : number;
}

}  // namespace

Picture PictureFrom(const cv::Mat& image) {
  const auto owner = std::make_shared<const cv::Mat>(Converted(image));
  return {owner->cols, owner->rows, owner->channels(), static_cast<int64_t>(owner->step[0]),
          std::shared_ptr<const uint8_t>(owner, owner->ptr())};
}

cv::Mat ImageOf(const Picture& picture) {
  return cv::Mat(picture.height, picture.width, CV_8UC(picture.channels),
                 const_cast<uint8_t*>(picture.pixels.get()),
                 static_cast<size_t>(picture.row_stride));
}

Picture ReadPictureFile(const std::filesystem::path& path, int flags) {
  QuietOpenCv();
  const std::string bytes = ReadFile(path, kLargestFile);
  cv::Mat image = LoadOpenCvFiles().decode({bytes.begin(), bytes.end()}, flags);
  if (image.empty()) throw InputError(fmt::format("{}: not a readable picture", path.string()));
  if (const int white = WhiteOf(bytes); white > 0) image.convertTo(image, CV_8U, 255.0 / white);
  try {
    return PictureFrom(image);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::string PngOf(const cv::Mat& image) {
  const cv::Mat dense = image.isContinuous() ? image : image.clone();
  std::vector<uint8_t> bytes;
  AppendPng(dense.ptr(), {dense.cols, dense.rows, dense.channels()}, &bytes);
  return {bytes.begin(), bytes.end()};
}

void WritePng(const std::filesystem::path& path, const cv::Mat& image) {
  WriteFile(path, PngOf(image));
}

const OpenCvFiles& LoadOpenCvFiles() {
  static const auto* const files = static_cast<const OpenCvFiles*>(
      LoadModule("cacheinf-opencv.so", "CacheInfOpenCvFiles", "What opens pictures and videos"));
  return *files;
}

void QuietOpenCv() {
  static std::once_flag once;
  std::call_once(once, [] {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", /*overwrite=*/0);  // AV_LOG_QUIET
  });
}

}  // namespace cacheinf
