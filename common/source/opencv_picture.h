#ifndef CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_
#define CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_

#include <opencv2/core/mat.hpp>

#include "common/model/picture.h"

namespace cacheinf {

// Shares the image's pixels where they are 8-bit grey or blue, green, red; converts BGRA, YUYV (two
// bytes a pixel, as cameras have it) and 16-bit grey or BGR, of which full scale stays full scale.
// Throws InputError for others: floats, above all, have no scale of their own.
Picture PictureFrom(const cv::Mat& image);

// Lets errors of OpenCV and FFmpeg reach us as results only, not as lines on stderr.
void QuietOpenCv();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_
