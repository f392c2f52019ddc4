#include "common/answer/overlay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "common/answer/recomputed.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

constexpr double kGoldenRatio = 0.618033988749895;
constexpr int kTextHeight = 14;  // of a line, in pixels
constexpr int kDotRadius = 3;

cv::Scalar ScalarColour(int index) {
  const auto colour = ClassColour(index);
  return {static_cast<double>(colour[0]), static_cast<double>(colour[1]),
          static_cast<double>(colour[2])};
}

void DrawText(cv::Mat& image, const std::string& text, cv::Point bottom_left,
              const cv::Scalar& background) {
  constexpr double kScale = 0.4;
  int baseline = 0;
  const cv::Size size = cv::getTextSize(text, cv::FONT_HERSHEY_SIMPLEX, kScale, 1, &baseline);
  bottom_left.y = std::max(bottom_left.y, kTextHeight);
  cv::rectangle(image, {bottom_left.x, bottom_left.y - kTextHeight},
                {bottom_left.x + size.width + 2, bottom_left.y}, background, cv::FILLED);
  cv::putText(image, text, {bottom_left.x + 1, bottom_left.y - baseline}, cv::FONT_HERSHEY_SIMPLEX,
              kScale, {0, 0, 0}, 1, cv::LINE_AA);
}

class Painter {
 public:
  Painter(cv::Mat& image, const PictureFit& fit, const AnswerReader& reader)
      : image_(image), fit_(fit), reader_(reader) {}

  void operator()(const RawOutputs&) {}

  void operator()(const Classification& classification) {
    int line = 1;
    for (const ScoredClass& scored : classification.best) {
      DrawText(image_, Label(scored), {2, 2 + kTextHeight * line++}, ScalarColour(scored.index));
    }
  }

  void operator()(const ClassMap& map) {
    for (int y = 0; y < image_.rows; ++y) {
      const int model_y = fit_.rows().ToModel(y);
      for (int x = 0; x < image_.cols && model_y >= 0; ++x) {
        const int model_x = fit_.columns().ToModel(x);
        if (model_x < 0) continue;
        const auto colour =
            ClassColour(map.At(model_x, model_y, fit_.spec().width, fit_.spec().height));
        auto& pixel = image_.at<cv::Vec3b>(y, x);
        for (int c = 0; c < 3; ++c) {
          pixel[c] = static_cast<uint8_t>((pixel[c] + colour[static_cast<size_t>(c)] + 1) / 2);
        }
      }
    }
  }

  void operator()(const Detections& detections) {
    for (const Detection& detection : detections.boxes) {
      const cv::Scalar colour = ScalarColour(detection.label.index);
      const auto pixel = [](double position) { return static_cast<int>(std::lround(position)); };
      const cv::Point top_left(pixel(detection.left), pixel(detection.top));
      if (detection.corners.empty()) {
        cv::rectangle(image_, top_left, {pixel(detection.right), pixel(detection.bottom)}, colour,
                      2);
      }
      for (size_t i = 0; i < detection.corners.size(); ++i) {
        const Keypoint& a = detection.corners[i];
        const Keypoint& b = detection.corners[(i + 1) % detection.corners.size()];
        cv::line(image_, {pixel(a.x), pixel(a.y)}, {pixel(b.x), pixel(b.y)}, colour, 2);
      }
      for (const Keypoint& point : detection.keypoints) Dot(point, colour);
      DrawMask(detection.mask, colour);
      DrawText(image_, Label(detection.label), top_left, colour);
    }
  }

  void operator()(const Embedding&) {}

  void operator()(const Keypoints& keypoints) {
    for (size_t i = 0; i < keypoints.points.size(); ++i) {
      const Keypoint& point = keypoints.points[i];
      if (std::isnan(point.x) || std::isnan(point.y)) continue;
      Dot(point, ScalarColour(static_cast<int>(i)));
    }
  }

 private:
  void Dot(const Keypoint& point, const cv::Scalar& colour) {
    const auto pixel = [](double position) { return static_cast<int>(std::floor(position)); };
    cv::circle(image_, {pixel(point.x), pixel(point.y)}, kDotRadius, colour, cv::FILLED);
  }

  // Pixels come column by column, in runs outside and inside in turn.
  void DrawMask(const PixelRuns& mask, const cv::Scalar& colour) {
    int64_t at = 0;
    for (size_t run = 0; run < mask.lengths.size(); at += mask.lengths[run++]) {
      if (run % 2 == 0) continue;
      for (int64_t i = at; i < at + mask.lengths[run]; ++i) {
        auto& pixel = image_.at<cv::Vec3b>(static_cast<int>(i % mask.height),
                                           static_cast<int>(i / mask.height));
        for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>((pixel[c] + colour[c]) / 2);
      }
    }
  }

  std::string Label(const ScoredClass& scored) const {
    return fmt::format("{} {:.2f}", reader_.ClassName(scored.index), scored.score);
  }

  cv::Mat& image_;
  const PictureFit& fit_;
  const AnswerReader& reader_;
};

// A level for every pixel of the frame; 0 where the model does not see it.
cv::Mat LevelsOf(const Picture& frame, const PictureFit& fit, const ClassMap& recomputed) {
  cv::Mat levels = cv::Mat::zeros(frame.height, frame.width, CV_8UC1);
  for (int y = 0; y < levels.rows; ++y) {
    const int model_y = fit.rows().ToModel(y);
    for (int x = 0; x < levels.cols && model_y >= 0; ++x) {
      const int model_x = fit.columns().ToModel(x);
      if (model_x < 0) continue;
      levels.at<uint8_t>(y, x) = static_cast<uint8_t>(
          recomputed.At(model_x, model_y, fit.spec().width, fit.spec().height));
    }
  }
  return levels;
}

}  // namespace

cv::Mat ColourCopy(const Picture& picture) {
  if (picture.channels == 3) return ImageOf(picture).clone();
  cv::Mat image;
  cv::cvtColor(ImageOf(picture), image, cv::COLOR_GRAY2BGR);
  return image;
}

std::array<uint8_t, 3> ClassColour(int index) {
  const double hue = 6 * std::fmod(0.1 + kGoldenRatio * index, 1.0);
  const auto channel = [&](double offset) {
    const double distance = std::abs(std::fmod(hue + offset, 6.0) - 3.0);
    return static_cast<uint8_t>(60 + 195 * std::clamp(distance - 1.0, 0.0, 1.0));
  };
  return {channel(2), channel(4), channel(0)};
}

Picture DrawAnswer(const Picture& frame, const PictureFit& fit, const AnswerContent& content,
                   const AnswerReader& reader) {
  cv::Mat image = ColourCopy(frame);
  std::visit(Painter(image, fit, reader), content);
  return PictureFrom(image);
}

Picture OutlineRecomputed(const Picture& drawn, const PictureFit& fit, const ClassMap& recomputed) {
  cv::Mat image = ColourCopy(drawn);
  constexpr int kHalf = (kMostRecomputed + 1) / 2;
  const cv::Mat mostly = LevelsOf(drawn, fit, recomputed) >= kHalf;
  cv::Mat inner;
  cv::erode(mostly, inner, cv::Mat(), {-1, -1}, 1, cv::BORDER_CONSTANT, cv::Scalar::all(0));
  image.setTo(cv::Scalar::all(255), mostly & ~inner);
  return PictureFrom(image);
}

Picture DrawRecomputed(const Picture& frame, const PictureFit& fit, const ClassMap& recomputed) {
  constexpr int kLeast = 64;  // brightness, of 256, of what was kept
  cv::Mat image = ColourCopy(frame);
  const cv::Mat levels = LevelsOf(frame, fit, recomputed);
  for (int y = 0; y < image.rows; ++y) {
    for (int x = 0; x < image.cols; ++x) {
      const int brightness = kLeast + (256 - kLeast) * levels.at<uint8_t>(y, x) / kMostRecomputed;
      for (int c = 0; c < 3; ++c) {
        uint8_t& level = image.at<cv::Vec3b>(y, x)[c];
        level = static_cast<uint8_t>(level * brightness / 256);
      }
    }
  }
  return PictureFrom(image);
}

}  // namespace cacheinf
