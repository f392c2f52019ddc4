#include "common/source/opencv_picture.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <opencv2/core/utils/logger.hpp>

#include "common/base/error.h"

namespace cacheinf {

Picture PictureFrom(const cv::Mat& image) {
  if (image.type() != CV_8UC1 && image.type() != CV_8UC3) {
    throw InputError(fmt::format("pictures of type {} are not supported, only 8-bit grey or BGR",
                                 cv::typeToString(image.type())));
  }
  const auto owner = std::make_shared<const cv::Mat>(image);
  return {image.cols, image.rows, image.channels(), static_cast<int64_t>(image.step[0]),
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
