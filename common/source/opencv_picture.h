#ifndef CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_
#define CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_

#include <opencv2/core/mat.hpp>

#include "common/model/picture.h"

namespace cacheinf {

// Shares the image's pixels. Throws InputError unless they are 8-bit grey or blue, green, red.
Picture PictureFrom(const cv::Mat& image);

// Lets errors of OpenCV and FFmpeg reach us as results only, not as lines on stderr.
void QuietOpenCv();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_
