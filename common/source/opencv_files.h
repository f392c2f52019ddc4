#ifndef CACHEINF_COMMON_SOURCE_OPENCV_FILES_H_
#define CACHEINF_COMMON_SOURCE_OPENCV_FILES_H_

#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

namespace cacheinf {

// cv::VideoCapture, without exceptions.
class VideoReader {
 public:
  virtual ~VideoReader() = default;
  virtual bool is_open() const = 0;
  virtual double Property(int property) const = 0;  // a cv::CAP_PROP_
  // Goes to the next frame. False: there is none.
  virtual bool Grab() = 0;
  // That frame, in memory of its own; empty if it cannot be decoded.
  virtual cv::Mat Retrieve() = 0;
};

// cv::VideoWriter, without exceptions. Its destructor completes the file.
class VideoWriter {
 public:
  virtual ~VideoWriter() = default;
  virtual void Write(const cv::Mat& image) = 0;
};

// What OpenCV does with files, cameras and streams. It lies in a module, cacheinf-opencv.so,
// because these parts of OpenCV load 120 libraries more (those of GDAL among them), which costs a
// process .12 s, and most processes need none of them.
struct OpenCvFiles {
  // cv::imdecode. Empty if the bytes are not a picture.
  cv::Mat (*decode)(const std::vector<uint8_t>& bytes, int flags);
  // `library`: a cv::CAP_.
  std::unique_ptr<VideoReader> (*open)(const std::string& what, int library,
                                       const std::vector<int>& parameters);
  std::unique_ptr<VideoReader> (*open_camera)(int number);
  // By libavcodec. Null if it cannot.
  std::unique_ptr<VideoWriter> (*write)(const std::string& path, bool is_h264, double frame_rate,
                                        cv::Size size);
};

// Loads the module, once. Throws InputError if it cannot be loaded.
const OpenCvFiles& LoadOpenCvFiles();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_OPENCV_FILES_H_
