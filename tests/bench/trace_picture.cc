#include "tests/bench/trace_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

namespace cacheinf {
namespace {

constexpr int kWidth = 1400;
constexpr int kLeft = 220;
constexpr int kRight = 20;
constexpr int kPanel = 200;
constexpr int kGap = 45;
constexpr int kPlanRow = 18;
constexpr double kSmoothMs = 500;

const cv::Scalar kBlack(0, 0, 0);
const cv::Scalar kGrey(200, 200, 200);
// The colours of the courses, in order.
const std::vector<cv::Scalar> kColours = {{40, 40, 220}, {200, 120, 0}, {60, 160, 60}};

class Drawing {
 public:
  Drawing(const TracedLink& link, const std::vector<TraceCourse>& courses)
      : link_(link),
        courses_(courses),
        lap_ms_(link.step_ms * static_cast<double>(link.mbit.size())) {
    for (const TraceCourse::Answer& answer : courses.front().answers) plans_[answer.plan];
    int row = 0;
    for (auto& [plan, place] : plans_) place = row++;
    const int height = 4 * kGap + 3 * kPanel + kGap + kPlanRow * static_cast<int>(plans_.size());
    image_ = cv::Mat(height, kWidth, CV_8UC3, cv::Scalar(255, 255, 255));
  }

  cv::Mat Draw() {
    Text(link_.title, kLeft, 20, kBlack);
    int x = kWidth / 2;
    for (size_t i = 0; i < courses_.size(); ++i) {
      Text(courses_[i].name, x, 20, kColours[i]);
      x += 220;
    }
    int top = kGap;
    DrawBandwidth(top);
    top += kPanel + kGap;
    DrawLatencies(top);
    top += kPanel + kGap;
    DrawInHand(top);
    top += kPanel + kGap;
    DrawPlans(top);
    return image_;
  }

 private:
  // A panel's vertical axis, from `least` at its foot to `most`.
  struct Axis {
    int top = 0;
    double least = 0;
    double most = 1;

    int Y(double value) const {
      const double share = std::clamp((value - least) / (most - least), 0.0, 1.0);
      return top + kPanel - static_cast<int>(std::lround(share * kPanel));
    }
  };

  int X(double lap_ms) const {
    return kLeft + static_cast<int>(lap_ms / lap_ms_ * (kWidth - kLeft - kRight));
  }
  double LapMs(const TraceCourse& course, double ms) const {
    return std::fmod(course.begin_ms + ms, lap_ms_);
  }
  void Text(const std::string& text, int x, int y, const cv::Scalar& colour) {
    cv::putText(image_, text, {x, y}, cv::FONT_HERSHEY_SIMPLEX, 0.45, colour, 1, cv::LINE_AA);
  }
  void Frame(const Axis& axis, const std::string& what, const std::vector<double>& marks) {
    Text(what, kLeft, axis.top - 6, kBlack);
    for (const double mark : marks) {
      cv::line(image_, {kLeft, axis.Y(mark)}, {kWidth - kRight, axis.Y(mark)}, kGrey);
      Text(fmt::format("{:g}", mark), kLeft - 45, axis.Y(mark) + 4, kBlack);
    }
    for (double ms = 0; ms < lap_ms_; ms += 2000) {
      cv::line(image_, {X(ms), axis.top}, {X(ms), axis.top + kPanel}, kGrey);
      Text(fmt::format("{:g} s", ms / 1000), X(ms), axis.top + kPanel + 14, kBlack);
    }
  }

  void DrawBandwidth(int top) {
    const double most = *std::ranges::max_element(link_.mbit);
    const Axis axis = {top, 0, most};
    Frame(axis, "Mbit/s", {0, std::round(most / 2 * 10) / 10, std::round(most * 10) / 10});
    for (size_t i = 0; i < link_.mbit.size(); ++i) {
      const double ms = link_.step_ms * static_cast<double>(i);
      cv::rectangle(image_, {X(ms), axis.Y(link_.mbit[i])}, {X(ms + link_.step_ms), axis.Y(0)},
                    cv::Scalar(230, 200, 160), cv::FILLED);
    }
  }

  void DrawLatencies(int top) {
    const Axis axis = {top, 0, 3 * link_.deadline_ms};
    Frame(axis, "latency of computed answers, ms",
          {0, link_.deadline_ms, 2 * link_.deadline_ms, 3 * link_.deadline_ms});
    for (size_t i = courses_.size(); i-- > 0;) {
      for (const TraceCourse::Answer& answer : courses_[i].answers) {
        const cv::Point at(X(LapMs(courses_[i], answer.captured_ms)), axis.Y(answer.latency_ms));
        cv::circle(image_, at, i == 0 ? 3 : 2, kColours[i], cv::FILLED, cv::LINE_AA);
      }
    }
    cv::line(image_, {kLeft, axis.Y(link_.deadline_ms)},
             {kWidth - kRight, axis.Y(link_.deadline_ms)}, kBlack);
  }

  void DrawInHand(int top) {
    const Axis axis = {top, 0, 1};
    Frame(axis, "in hand at the deadline: agreement with the frame's dense answer",
          {0, 0.25, 0.5, 0.75, 1});
    for (size_t i = courses_.size(); i-- > 0;) {
      std::vector<std::pair<double, double>> by_lap;
      for (const auto& [ms, value] : courses_[i].in_hand) {
        by_lap.emplace_back(LapMs(courses_[i], ms), value);
      }
      std::ranges::sort(by_lap);
      std::vector<cv::Point> line;
      for (const auto& [ms, value] : by_lap) {
        double sum = 0;
        int count = 0;
        for (const auto& [other_ms, other] : by_lap) {
          if (std::abs(other_ms - ms) > kSmoothMs / 2) continue;
          sum += other;
          ++count;
        }
        line.emplace_back(X(ms), axis.Y(sum / count));
      }
      cv::polylines(image_, line, false, kColours[i], i == 0 ? 2 : 1, cv::LINE_AA);
    }
  }

  void DrawPlans(int top) {
    Text("plan of " + courses_.front().name, kLeft, top - 6, kBlack);
    for (const auto& [plan, row] : plans_) {
      Text(plan, 5, top + kPlanRow * (row + 1) - 5, kBlack);
    }
    for (const TraceCourse::Answer& answer : courses_.front().answers) {
      const int x = X(LapMs(courses_.front(), answer.captured_ms));
      const int y = top + kPlanRow * plans_.at(answer.plan);
      cv::rectangle(image_, {x, y + 4}, {x + 3, y + kPlanRow - 3}, kColours.front(), cv::FILLED);
    }
  }

  const TracedLink& link_;
  const std::vector<TraceCourse>& courses_;
  const double lap_ms_;
  std::map<std::string, int> plans_;  // the rows of what the first course followed
  cv::Mat image_;
};

}  // namespace

void DrawTrace(const TracedLink& link, const std::vector<TraceCourse>& courses,
               const std::filesystem::path& file) {
  if (!cv::imwrite(file.string(), Drawing(link, courses).Draw())) {
    throw std::runtime_error(file.string() + " cannot be written");
  }
}

}  // namespace cacheinf
