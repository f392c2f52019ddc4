#ifndef CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_
#define CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_

#include <filesystem>
#include <opencv2/core/mat.hpp>
#include <string>

#include "common/model/picture.h"

namespace cacheinf {

// Shares the image's pixels if they are 8-bit grey or blue, green, red; converts BGRA, YUYV (two
// bytes per pixel, as from cameras) and 16-bit grey or BGR, full scale to full scale.
// Throws InputError for others: floats, above all, have no defined scale.
Picture PictureFrom(const cv::Mat& image);

// A view of the picture's pixels, which OpenCV must not write to.
cv::Mat ImageOf(const Picture& picture);

// Reads as the flags of cv::imread say. A PGM or PPM file says itself which level is white. Throws
// InputError, naming the file.
Picture ReadPictureFile(const std::filesystem::path& path, int flags);

// An image of 8 bits, grey or blue, green, red, as a PNG file has it.
std::string PngOf(const cv::Mat& image);

// Writes that. Throws InputError, naming the file.
void WritePng(const std::filesystem::path& path, const cv::Mat& image);

// Makes OpenCV and FFmpeg report errors as results only, not as lines on stderr.
void QuietOpenCv();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_OPENCV_PICTURE_H_
