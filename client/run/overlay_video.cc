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
#include "common/source/opencv_files.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

constexpr double kUsualFrameRate = 25;

bool HasReadableFrame(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const auto video = LoadOpenCvFiles().open(path, cv::CAP_FFMPEG, {});
  return video->is_open() && video->Grab() && !video->Retrieve().empty();
}

}  // namespace

struct OverlayVideo::State {
  std::string path;
  double frame_rate;
  std::string encoder;  // for H.264; empty: none
  std::unique_ptr<VideoWriter> writer;
  cv::Size size;  // of the pictures, without captions

  void Open(cv::Size captioned) {
    QuietOpenCv();
    writer = LoadOpenCvFiles().write(path, /*is_h264=*/!encoder.empty(), frame_rate, captioned);
    if (writer == nullptr) {
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
  if (state_->writer != nullptr && image.size() != state_->size) {
    cv::resize(image, image, state_->size);
  }
  state_->size = image.size();
  const Picture captioned = AddCaption(PictureFrom(image), caption);
  if (state_->writer == nullptr) state_->Open({captioned.width, captioned.height});
  state_->writer->Write(ImageOf(captioned));
}

void OverlayVideo::Close() {
  if (state_->writer == nullptr) return;
  state_->writer.reset();
  if (!HasReadableFrame(state_->path)) {
    throw InputError(fmt::format("overlay {}: could not be written completely", state_->path));
  }
}

}  // namespace cacheinf
