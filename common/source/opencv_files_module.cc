// The content of the module cacheinf-opencv.so.

#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

#include "common/source/opencv_files.h"

namespace cacheinf {
namespace {

cv::Mat Decode(const std::vector<uint8_t>& bytes, int flags) {
  try {
    return cv::imdecode(bytes, flags);
  } catch (const cv::Exception&) {
    return {};
  }
}

class Reader final : public VideoReader {
 public:
  Reader(const auto& what, int library, const std::vector<int>& parameters) {
    try {
      capture_.open(what, library, parameters);
    } catch (const cv::Exception&) {
      capture_.release();
    }
  }

  bool is_open() const override { return capture_.isOpened(); }
  double Property(int property) const override { return capture_.get(property); }

  bool Grab() override {
    try {
      return capture_.grab();
    } catch (const cv::Exception&) {
      return false;
    }
  }

  cv::Mat Retrieve() override {
    cv::Mat image;
    try {
      if (!capture_.retrieve(image)) image.release();
    } catch (const cv::Exception&) {
      image.release();
    }
    return image;
  }

 private:
  cv::VideoCapture capture_;
};

class Writer final : public VideoWriter {
 public:
  explicit Writer(const cv::VideoWriter& writer) : writer_(writer) {}
  void Write(const cv::Mat& image) override { writer_.write(image); }

 private:
  cv::VideoWriter writer_;
};

std::unique_ptr<VideoReader> Open(const std::string& what, int library,
                                  const std::vector<int>& parameters) {
  return std::make_unique<Reader>(what, library, parameters);
}

std::unique_ptr<VideoReader> OpenCamera(int number) {
  return std::make_unique<Reader>(number, cv::CAP_V4L2, std::vector<int>());
}

std::unique_ptr<VideoWriter> Write(const std::string& path, bool is_h264, double frame_rate,
                                   cv::Size size) {
  const int codec = is_h264 ? cv::VideoWriter::fourcc('a', 'v', 'c', '1')
                            : cv::VideoWriter::fourcc('m', 'p', '4', 'v');
  try {
    cv::VideoWriter writer(path, cv::CAP_FFMPEG, codec, frame_rate, size);
    if (writer.isOpened()) return std::make_unique<Writer>(writer);
  } catch (const cv::Exception&) {
    return nullptr;
  }
  return nullptr;
}

}  // namespace
}  // namespace cacheinf

extern "C" __attribute__((visibility("default"))) const cacheinf::OpenCvFiles*
CacheInfOpenCvFiles() {
  static constexpr cacheinf::OpenCvFiles kFiles = {&cacheinf::Decode, &cacheinf::Open,
                                                   &cacheinf::OpenCamera, &cacheinf::Write};
  return &kFiles;
}
