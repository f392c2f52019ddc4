#include "client/run/overlay_video.h"

#include <fmt/core.h>

#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <system_error>
#include <utility>

#include "common/answer/overlay.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

constexpr double kUsualFrameRate = 25;

bool HasReadableFrame(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  try {
    cv::VideoCapture video(path, cv::CAP_FFMPEG);
    cv::Mat frame;
    return video.isOpened() && video.read(frame) && !frame.empty();
  } catch (const cv::Exception&) {
    return false;
  }
}

}  // namespace

struct OverlayVideo::State {
  std::string path;
  double frame_rate;
  std::string encoder;  // for H.264; empty: none
  cv::VideoWriter writer;
  cv::Size size;  // of the pictures, without captions

  bool Open(int codec, cv::Size captioned) {
    try {
      return writer.open(path, cv::CAP_FFMPEG, codec, frame_rate, captioned);
    } catch (const cv::Exception&) {
      return false;
    }
  }

  void Open(cv::Size captioned) {
    QuietOpenCv();
    const int codec = encoder.empty() ? cv::VideoWriter::fourcc('m', 'p', '4', 'v')
                                      : cv::VideoWriter::fourcc('a', 'v', 'c', '1');
    if (!Open(codec, captioned)) {
      throw InputError(fmt::format(
          "overlay {}: frames of {}×{} pixels cannot be written as a video, which has {}×{} with "
          "their caption",
          path, size.width, size.height, captioned.width, captioned.height));
    }
    if (!encoder.empty()) return LogInfo(fmt::format("overlay {}: H.264 by {}", path, encoder));
    LogWarning(
        fmt::format("overlay {}: libavcodec has no encoder for H.264 that opens, so it is "
                    "MPEG-4 Part 2, which browsers do not show",
                    path));
  }
};

OverlayVideo::OverlayVideo(std::string path, double frame_rate, std::string h264_encoder)
    : state_(new State{std::move(path),
                       frame_rate > 0 ? frame_rate : kUsualFrameRate,
                       std::move(h264_encoder),
                       {},
                       {}}) {}

OverlayVideo::~OverlayVideo() = default;

void OverlayVideo::Write(const Picture& drawn, const std::vector<CaptionEntry>& caption) {
  cv::Mat image = ColourCopy(drawn);
  if (state_->writer.isOpened() && image.size() != state_->size) {
    cv::resize(image, image, state_->size);
  }
  state_->size = image.size();
  const Picture captioned = AddCaption(PictureFrom(image), caption);
  if (!state_->writer.isOpened()) state_->Open({captioned.width, captioned.height});
  state_->writer.write(ImageOf(captioned));
}

void OverlayVideo::Close() {
  if (!state_->writer.isOpened()) return;
  state_->writer.release();
  if (!HasReadableFrame(state_->path)) {
    throw InputError(fmt::format("overlay {}: could not be written completely", state_->path));
  }
}

}  // namespace cacheinf
