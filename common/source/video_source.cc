#include "common/source/video_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/source/gst_pipeline.h"
#include "common/source/opencv_files.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

// A stream that has no good frame among this many is not worth waiting for.
constexpr int kMostBrokenInARow = 100;

// Longer than the segments that HTTP Live Streaming is cut into.
constexpr int kLongestSilenceMs = 15000;

class VideoSource final : public FrameSource {
 public:
  // `clock` stamps the frames; null: the record's own times do.
  VideoSource(std::string name, std::unique_ptr<VideoReader> reader, const Clock* clock,
              bool is_pipe = false)
      : name_(std::move(name)), reader_(std::move(reader)), clock_(clock), is_pipe_(is_pipe) {
    if (!reader_->is_open()) throw AbsentSource(fmt::format("{}: cannot be opened", name_));
    frame_rate_ = Property(cv::CAP_PROP_FPS);
    stated_frames_ = clock_ == nullptr ? Property(cv::CAP_PROP_FRAME_COUNT) : 0;
    first_ = Read();
    if (!first_) throw AbsentSource(fmt::format("{}: no frame can be read", name_));
  }

  std::optional<Frame> Next() override {
    if (first_) return std::exchange(first_, std::nullopt);
    return Read();
  }

  int64_t skipped() const override { return skipped_; }
  bool is_live() const override { return clock_ != nullptr; }
  bool may_block() const override { return is_live() || is_pipe_; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return frame_rate_; }

 private:
  // 0 where the property is unknown or nonsense.
  double Property(int property) const {
    const double value = reader_->Property(property);
    return std::isfinite(value) && value > 0 ? value : 0;
  }

  std::optional<Frame> Read() {
    for (int broken = 0; broken < kMostBrokenInARow; ++broken) {
      if (!reader_->Grab()) {
        ReportEnd();
        return std::nullopt;
      }
      Frame frame;
      frame.index = next_index_++;
      frame.name = fmt::format("{}, frame {}", name_, frame.index);
      frame.stamp = Stamp(frame.index);
      const cv::Mat image = reader_->Retrieve();
      if (!image.empty()) {
        RefusePlanes(image);
        frame.picture = PictureFrom(image);
        return frame;
      }
      LogWarning(fmt::format("{}: cannot be decoded, skipped", frame.name));
      ++skipped_;
    }
    LogWarning(fmt::format("{}: given up after {} broken frames", name_, kMostBrokenInARow));
    return std::nullopt;
  }

  // Planes of brightness and colour, one below the other (I420, NV12), come as grey pictures of
  // half as many rows again.
  void RefusePlanes(const cv::Mat& image) const {
    const double stated_rows = Property(cv::CAP_PROP_FRAME_HEIGHT);
    if (image.channels() == 1 && stated_rows > 0 && 2 * image.rows == 3 * stated_rows) {
      throw InputError(
          fmt::format("{}: frames are planes of YUV; let the pipeline end with \"videoconvert ! "
                      "video/x-raw,format=BGR ! appsink\"",
                      name_));
    }
  }

  std::chrono::nanoseconds Stamp(int64_t index) const {
    if (clock_ != nullptr) return clock_->Now();
    if (frame_rate_ == 0) return std::chrono::nanoseconds(0);
    return std::chrono::nanoseconds(
        static_cast<int64_t>(static_cast<double>(index) * 1e9 / frame_rate_));
  }

  void ReportEnd() const {
    const auto read = static_cast<double>(next_index_);
    if (read < stated_frames_) {
      LogWarning(fmt::format("{}: ended after {} of {} frames", name_, next_index_,
                             static_cast<int64_t>(stated_frames_)));
    }
  }

  std::string name_;
  std::unique_ptr<VideoReader> reader_;
  const Clock* clock_;
  bool is_pipe_;
  double frame_rate_ = 0;
  double stated_frames_ = 0;
  int64_t next_index_ = 0;
  int64_t skipped_ = 0;
  std::optional<Frame> first_;
};

const OpenCvFiles& QuietOpenCvFiles() {
  QuietOpenCv();
  return LoadOpenCvFiles();
}

// A peer that is silent for so long is gone.
std::unique_ptr<VideoReader> OpenAddress(const std::string& address) {
  return QuietOpenCvFiles().open(address, cv::CAP_FFMPEG,
                                 {cv::CAP_PROP_OPEN_TIMEOUT_MSEC, kLongestSilenceMs,
                                  cv::CAP_PROP_READ_TIMEOUT_MSEC, kLongestSilenceMs});
}

std::unique_ptr<FrameSource> StreamFrom(const std::string& address,
                                        std::unique_ptr<VideoReader> reader, const Clock& clock) {
  return std::make_unique<VideoSource>(fmt::format("stream {}", address), std::move(reader),
                                       &clock);
}

// The format that the caps right before the sink name, as in "… ! video/x-raw,format=BGR !
// appsink"; empty where they name none.
std::string FormatBeforeSink(const std::string& pipeline) {
  const size_t end = pipeline.rfind('!');
  if (end == std::string::npos || end == 0) return "";
  const size_t before = pipeline.rfind('!', end - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  std::string caps = pipeline.substr(begin, end - begin);
  caps.erase(std::remove(caps.begin(), caps.end(), ' '), caps.end());
  constexpr std::string_view kKey = "format=";
  size_t at = caps.find(kKey);
  if (at == std::string::npos) return "";
  at += kKey.size();
  if (caps.compare(at, 8, "(string)") == 0) at += 8;
  const size_t last =
      caps.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", at);
  return caps.substr(at, last - at);
}

// OpenCV gives bytes, but not the order of their colours.
void RefuseUnknownOrder(const std::string& pipeline) {
  const std::string format = FormatBeforeSink(pipeline);
  constexpr std::array<std::string_view, 6> kKnown = {"BGR",   "BGRx",      "BGRA",
                                                      "GRAY8", "GRAY16_LE", "YUY2"};
  if (format.empty() || std::ranges::find(kKnown, format) != kKnown.end()) return;
  throw InputError(
      fmt::format("pipeline \"{}\": format {} is not supported; let the pipeline end with "
                  "\"videoconvert ! video/x-raw,format=BGR ! appsink\"",
                  pipeline, format));
}

}  // namespace

std::unique_ptr<FrameSource> OpenVideo(const std::string& path_or_address) {
  std::error_code error;
  return std::make_unique<VideoSource>(
      fmt::format("video {}", path_or_address),
      QuietOpenCvFiles().open(path_or_address, cv::CAP_FFMPEG, {}), nullptr,
      /*is_pipe=*/std::filesystem::is_fifo(path_or_address, error));
}

std::unique_ptr<FrameSource> OpenStream(const std::string& address, const Clock& clock) {
  return StreamFrom(address, OpenAddress(address), clock);
}

std::unique_ptr<FrameSource> OpenVideoOrStream(const std::string& address, const Clock& clock) {
  std::unique_ptr<VideoReader> reader = OpenAddress(address);
  const bool is_record = reader->is_open() && reader->Property(cv::CAP_PROP_FRAME_COUNT) > 0;
  if (!is_record) return StreamFrom(address, std::move(reader), clock);
  return std::make_unique<VideoSource>(fmt::format("video {}", address), std::move(reader),
                                       nullptr);
}

std::unique_ptr<FrameSource> OpenCamera(int number, const Clock& clock) {
  return std::make_unique<VideoSource>(fmt::format("camera {}", number),
                                       QuietOpenCvFiles().open_camera(number), &clock);
}

std::unique_ptr<FrameSource> OpenPipeline(const std::string& pipeline, const Clock& clock) {
  if (pipeline.find("appsink") == std::string::npos) {
    throw InputError(
        fmt::format("pipeline \"{}\": has no appsink; let it end with \"… ! appsink\"", pipeline));
  }
  CheckPipeline(pipeline);
  RefuseUnknownOrder(pipeline);
  return std::make_unique<VideoSource>(fmt::format("pipeline \"{}\"", pipeline),
                                       QuietOpenCvFiles().open(pipeline, cv::CAP_GSTREAMER, {}),
                                       &clock);
}

}  // namespace cacheinf
