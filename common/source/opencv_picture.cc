#include "common/source/opencv_picture.h"

#include <fmt/core.h>

#include <cstdlib>
#include <mutex>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>

#include "common/base/error.h"

namespace cacheinf {

namespace {

// As 8-bit grey or blue, green, red; sharing the pixels where they are that already.
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

}  // namespace

Picture PictureFrom(const cv::Mat& image) {
  const auto owner = std::make_shared<const cv::Mat>(Converted(image));
  return {owner->cols, owner->rows, owner->channels(), static_cast<int64_t>(owner->step[0]),
          std::shared_ptr<const uint8_t>(owner, owner->ptr())};
}

void QuietOpenCv() {
  static std::once_flag once;
  std::call_once(once, [] {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", /*overwrite=*/0);  // AV_LOG_QUIET
  });
}

}  // namespace cacheinf
