#include "client/calibrate/frontier_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "client/answer/picture_file.h"
#include "client/calibrate/cache_settings.h"
#include "common/base/error.h"

namespace cacheinf {
namespace {

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string TableRow(const std::string& mark, const ClipScore& score,
                     const std::optional<ClipScore>& held_out, const std::string& settings) {
  return fmt::format("{:1} {:>8}  {:>9.4f}  {:>8}  {:>9}  {:>7.2f}  {:>5.2f}  {}\n", mark,
                     Percent(score.work), score.agreement, held_out ? Percent(held_out->work) : "-",
                     held_out ? fmt::format("{:.4f}", held_out->agreement) : "-", score.latency,
                     score.time, settings);
}

std::string CsvScore(const ClipScore& score) {
  return fmt::format("{:.5f},{:.5f},{:.5f},{:.5f}", score.work, score.agreement, score.latency,
                     score.time);
}

std::string CsvScores(const ClipScore& score, const std::optional<ClipScore>& held_out) {
  return CsvScore(score) + "," + (held_out ? CsvScore(*held_out) : ",,,");
}

const cv::Scalar kBlack = {30, 30, 30};
const cv::Scalar kGrid = {228, 228, 228};
const cv::Scalar kPale = {200, 200, 200};
const cv::Scalar kGrey = {120, 120, 120};
const cv::Scalar kBlue = {180, 105, 30};
const cv::Scalar kOrange = {0, 110, 230};
const cv::Scalar kGreen = {80, 140, 40};

// Draws in numbers of the axes.
class Chart {
 public:
  Chart(cv::Rect2d axes, const std::string& title, const std::string& x_name,
        const std::string& y_name)
      : axes_(axes), image_(kHeight, kWidth, CV_8UC3, cv::Scalar(255, 255, 255)) {
    DrawTicks();
    cv::rectangle(image_, {kLeft, kTop}, {kWidth - kRight, kHeight - kBottom}, kBlack, 1);
    Text(title, {kLeft, kTop - 16}, kBlack, 0.55);
    Text(x_name, {(kLeft + kWidth - kRight) / 2 - 80, kHeight - 18}, kBlack, 0.5);
    Text(y_name, {12, kTop - 16}, kBlack, 0.5);
  }

  const cv::Mat& image() const { return image_; }

  void Dot(double x, double y, int radius, const cv::Scalar& colour, int thickness = cv::FILLED) {
    cv::circle(image_, At(x, y), radius, colour, thickness, cv::LINE_AA);
  }
  void Cross(double x, double y, const cv::Scalar& colour) {
    cv::drawMarker(image_, At(x, y), colour, cv::MARKER_TILTED_CROSS, 10, 2, cv::LINE_AA);
  }
  void Line(double x0, double y0, double x1, double y1, const cv::Scalar& colour, int width) {
    cv::line(image_, At(x0, y0), At(x1, y1), colour, width, cv::LINE_AA);
  }
  void Label(double x, double y, const std::string& text, const cv::Scalar& colour) {
    Text(text, At(x, y) + cv::Point(9, 4), colour, 0.42);
  }

  bool Holds(double y) const { return y >= axes_.y; }
  double left() const { return axes_.x; }
  double right() const { return axes_.x + axes_.width; }

  // A line of the legend, from the bottom.
  void Explain(int line, const cv::Scalar& colour, const std::string& text) {
    const cv::Point at = {kWidth - kRight - 310, kHeight - kBottom - 16 - 20 * line};
    cv::circle(image_, at, 5, colour, cv::FILLED, cv::LINE_AA);
    Text(text, at + cv::Point(12, 5), kBlack, 0.44);
  }

 private:
  static constexpr int kWidth = 960;
  static constexpr int kHeight = 640;
  static constexpr int kLeft = 80;
  static constexpr int kRight = 30;
  static constexpr int kTop = 60;
  static constexpr int kBottom = 64;
  static constexpr double kTicks = 10;

  cv::Point At(double x, double y) const {
    const double u = (x - axes_.x) / axes_.width;
    const double v = (y - axes_.y) / axes_.height;
    return {static_cast<int>(std::lround(kLeft + u * (kWidth - kLeft - kRight))),
            static_cast<int>(std::lround(kHeight - kBottom - v * (kHeight - kTop - kBottom)))};
  }

  void DrawTicks() {
    for (int i = 0; i <= static_cast<int>(kTicks); ++i) {
      const double x = axes_.x + axes_.width * i / kTicks;
      const double y = axes_.y + axes_.height * i / kTicks;
      Line(x, axes_.y, x, axes_.y + axes_.height, kGrid, 1);
      Line(axes_.x, y, axes_.x + axes_.width, y, kGrid, 1);
      Text(fmt::format("{:.0f} %", 100 * x), At(x, axes_.y) + cv::Point(-16, 20), kBlack, 0.44);
      Text(fmt::format("{:.3f}", y), At(axes_.x, y) + cv::Point(-52, 5), kBlack, 0.44);
    }
  }

  void Text(const std::string& text, cv::Point at, const cv::Scalar& colour, double scale) {
    cv::putText(image_, text, at, cv::FONT_HERSHEY_SIMPLEX, scale, colour, 1, cv::LINE_AA);
  }

  cv::Rect2d axes_;
  cv::Mat image_;
};

// From a little below what matters to 1; from 0 to the largest cost.
cv::Rect2d AxesOf(const FrontierReport& report) {
  double low = report.target;
  double most = 1.0;
  for (const FrontierPoint& point : report.frontier) {
    low = std::min(low, point.chosen_by.agreement);
    most = std::max(most, report.CostOf(point.chosen_by));
  }
  low = std::clamp(std::floor((low - 0.01) * 20) / 20, 0.0, 0.95);
  return {0, low, std::ceil(most * 10 - 1e-6) / 10, 1 - low};
}

void DrawLine(const FrontierReport& report, Chart& chart) {
  const std::vector<FrontierPoint>& points = report.frontier;
  for (size_t i = 0; i < points.size(); ++i) {
    const double x = report.CostOf(points[i].chosen_by);
    const double y = points[i].chosen_by.agreement;
    // A step: to the right of a point nothing agrees less.
    const double next = i + 1 < points.size() ? report.CostOf(points[i + 1].chosen_by) : x;
    const double next_y = i + 1 < points.size() ? points[i + 1].chosen_by.agreement : y;
    chart.Line(x, y, next, y, kBlue, 2);
    chart.Line(next, y, next, next_y, kBlue, 2);
    chart.Dot(x, y, 4, kBlue);
    if (points[i].held_out) {
      chart.Dot(report.CostOf(*points[i].held_out), points[i].held_out->agreement, 4, kGreen, 1);
    }
    if (points[i].is_chosen) chart.Dot(x, y, 9, kOrange, 2);
  }
}

}  // namespace

std::string ToTable(const FrontierReport& report) {
  std::string text = fmt::format("  {:>8}  {:>9}  {:>8}  {:>9}  {:>7}  {:>5}  settings\n", "work",
                                 "agreement", "held out", "agreement", "latency", "time");
  for (const FrontierPoint& point : report.frontier) {
    text += TableRow(point.is_chosen ? "*" : "", point.chosen_by, point.held_out,
                     DescribeCacheSettings(point.config));
  }
  for (const FrontierRival& rival : report.rivals) {
    text += TableRow("", rival.chosen_by, rival.held_out, rival.name + ", nothing kept");
  }
  return text;
}

std::string ToCsv(const FrontierReport& report) {
  std::string text = fmt::format(
      "name,work,agreement,latency,time,held_out_work,held_out_agreement,held_out_latency,"
      "held_out_time,{}\n",
      CacheSettingsHeader());
  for (const FrontierPoint& point : report.frontier) {
    text += fmt::format("{},{},{}\n", point.is_chosen ? "chosen" : "frontier",
                        CsvScores(point.chosen_by, point.held_out), CacheSettingsRow(point.config));
  }
  const std::string header = CacheSettingsHeader();
  const auto commas = static_cast<size_t>(std::count(header.begin(), header.end(), ','));
  for (const FrontierRival& rival : report.rivals) {
    text += fmt::format("{},{},{}\n", rival.name, CsvScores(rival.chosen_by, rival.held_out),
                        std::string(commas, ','));
  }
  return text;
}

void DrawFrontier(const FrontierReport& report, const std::filesystem::path& png) {
  const std::string cost = report.by_time ? "time of answer and refresh" : "active work";
  Chart chart(AxesOf(report), "agreement with dense answers over " + cost,
              cost + ", of a dense run's", report.measure);
  chart.Line(chart.left(), report.target, chart.right(), report.target, kOrange, 1);
  for (const ClipScore& score : report.tried) {
    if (chart.Holds(score.agreement)) chart.Dot(report.CostOf(score), score.agreement, 3, kPale);
  }
  DrawLine(report, chart);
  for (const FrontierRival& rival : report.rivals) {
    if (!chart.Holds(rival.chosen_by.agreement)) continue;
    chart.Cross(report.CostOf(rival.chosen_by), rival.chosen_by.agreement, kGrey);
    chart.Label(report.CostOf(rival.chosen_by), rival.chosen_by.agreement, rival.name, kGrey);
  }
  chart.Explain(4, kBlue, "frontier, on the frames to choose by");
  chart.Explain(3, kGreen, "the same on the frames held out");
  chart.Explain(2, kOrange, "chosen, and the target");
  chart.Explain(1, kGrey, "dense answers, repeated");
  chart.Explain(0, kPale, "other settings tried");
  if (!WritePictureFile(png, chart.image())) {
    throw InputError(fmt::format("--picture {}: cannot be written as a picture", png.string()));
  }
}

}  // namespace cacheinf
