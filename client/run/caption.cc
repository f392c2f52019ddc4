#include "client/run/caption.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>
#include <variant>

#include "common/answer/overlay.h"
#include "common/base/clock.h"
#include "common/source/opencv_picture.h"

namespace cacheinf {
namespace {

using Colour = std::array<uint8_t, 3>;

constexpr Colour kWhite = {255, 255, 255};
constexpr Colour kBoundary = {0, 255, 255};
constexpr int kLineHeight = 14;   // of text, in pixels
constexpr int kUsualWidth = 560;  // of what one entry after the other takes
constexpr int kMostLines = 8;
constexpr size_t kMostClasses = 8;

// Whether the robot has some rows behind the cut, and the server the others.
bool Meet(int robot_row, int rows) { return robot_row > 0 && robot_row < rows; }

std::string WhoOf(const Answer& answer, const std::string& mode) {
  const std::string what = answer.plan.empty() ? "mode " + mode : answer.plan;
  if (!answer.server) return what;
  return what + (answer.server->robot_rows.empty() ? ", by the server" : ", with the server");
}

std::string GuardText(const GuardState& guard) {
  std::string text = fmt::format("guard {}", NameOf(guard.level));
  if (guard.is_in_doubt) return text + ", in doubt";  // what it has seen says too little
  if (guard.agreement) text += fmt::format(" {:.3f}", *guard.agreement);
  return text;
}

std::vector<int> LargestClasses(const ClassMap& map) {
  std::vector<std::pair<int, int64_t>> pixels = PixelsOfClasses(map);
  std::ranges::stable_sort(pixels, std::greater(), &std::pair<int, int64_t>::second);
  pixels.resize(std::min(pixels.size(), kMostClasses));
  std::vector<int> largest;
  for (const auto& [index, count] : pixels) largest.push_back(index);
  return largest;
}

cv::Scalar ScalarOf(const Colour& colour) {
  return {static_cast<double>(colour[0]), static_cast<double>(colour[1]),
          static_cast<double>(colour[2])};
}

}  // namespace

std::vector<CaptionEntry> CaptionOf(const Answer& answer, const std::string& mode,
                                    const AnswerReader& reader, bool is_outlined) {
  std::vector<CaptionEntry> entries = {{fmt::format("frame {}", answer.frame)},
                                       {WhoOf(answer, mode)}};
  entries.push_back({fmt::format("{:.1f} ms{}", Milliseconds(answer.latency()),
                                 answer.is_late() ? ", late" : "")});
  if (answer.computed_from != answer.frame) {
    entries.push_back({fmt::format("answer of frame {}{}", answer.computed_from,
                                   answer.is_moved ? ", moved" : "")});
  }
  if (const auto share = answer.share()) {
    entries.push_back({fmt::format("work {:.0f} %", 100 * *share)});
  }
  if (answer.guard) entries.push_back({GuardText(*answer.guard)});
  if (const auto* map = std::get_if<ClassMap>(&answer.content)) {
    for (const int index : LargestClasses(*map)) {
      entries.push_back({reader.ClassName(index), ClassColour(index)});
    }
  }
  if (is_outlined) entries.push_back({"recomputed", kWhite});
  if (answer.server && !answer.server->robot_rows.empty()) {
    entries.push_back({"behind the cut: robot above, server below", kBoundary});
  }
  return entries;
}

Picture DrawBoundaries(const Picture& drawn, const PictureFit& fit, const ServerPart& server) {
  cv::Mat image = ColourCopy(drawn);
  for (const int row : server.robot_rows) {
    if (!Meet(row, fit.spec().height)) continue;
    const int y = static_cast<int>(std::lround(fit.rows().ToFrame(row)));
    cv::line(image, {0, y}, {image.cols - 1, y}, ScalarOf(kBoundary));
  }
  return PictureFrom(image);
}

Picture AddCaption(const Picture& drawn, const std::vector<CaptionEntry>& entries) {
  constexpr double kScale = 0.4;
  constexpr int kGap = 12;
  constexpr int kSwatch = 8;
  const cv::Mat frame = ImageOf(drawn);
  const int lines = std::min(kMostLines, 2 * (1 + (kUsualWidth - 1) / frame.cols));
  const int height = lines * kLineHeight + frame.rows % 2;
  cv::Mat strip(height, frame.cols, CV_8UC3, cv::Scalar::all(32));
  cv::Point at(2, 0);
  for (const CaptionEntry& entry : entries) {
    int baseline = 0;
    const cv::Size size =
        cv::getTextSize(entry.text, cv::FONT_HERSHEY_SIMPLEX, kScale, 1, &baseline);
    const int swatch = entry.colour ? kSwatch + 3 : 0;
    if (at.x > 2 && at.x + swatch + size.width > frame.cols) at = {2, at.y + kLineHeight};
    if (at.y >= lines * kLineHeight) break;
    if (entry.colour) {
      cv::rectangle(strip, cv::Rect(at.x, at.y + 3, kSwatch, kSwatch), ScalarOf(*entry.colour),
                    cv::FILLED);
    }
    cv::putText(strip, entry.text, {at.x + swatch, at.y + kLineHeight - baseline},
                cv::FONT_HERSHEY_SIMPLEX, kScale, cv::Scalar::all(255), 1, cv::LINE_AA);
    at.x += swatch + size.width + kGap;
  }
  cv::Mat whole;
  cv::vconcat(frame, strip, whole);
  return PictureFrom(whole);
}

}  // namespace cacheinf
