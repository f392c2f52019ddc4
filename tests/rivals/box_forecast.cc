#include "tests/rivals/box_forecast.h"

#include <cmath>
#include <opencv2/core.hpp>
#include <utility>

#include "common/answer/agreement.h"

namespace cacheinf {
namespace {

constexpr double kLeastOverlap = 0.3;
constexpr int kMostUnseen = 1;

// Places in the filter's state: centre, area, width ÷ height, and the velocities of the first
// three.
constexpr int kX = 0;
constexpr int kY = 1;
constexpr int kArea = 2;
constexpr int kShape = 3;
constexpr int kMeasured = 4;
constexpr int kStates = 7;

cv::Mat Measurement(const Detection& box) {
  const double width = box.right - box.left;
  const double height = box.bottom - box.top;
  return (cv::Mat_<double>(kMeasured, 1) << (box.left + box.right) / 2, (box.top + box.bottom) / 2,
          width * height, width / height);
}

cv::KalmanFilter FilterOf(const Detection& box) {
  cv::KalmanFilter filter(kStates, kMeasured, 0, CV_64F);
  cv::setIdentity(filter.transitionMatrix);
  for (int i = 0; i < kShape; ++i) filter.transitionMatrix.at<double>(i, kMeasured + i) = 1;
  cv::setIdentity(filter.measurementMatrix);
  cv::setIdentity(filter.measurementNoiseCov);
  filter.measurementNoiseCov.at<double>(kArea, kArea) = 10;
  filter.measurementNoiseCov.at<double>(kShape, kShape) = 10;
  cv::setIdentity(filter.errorCovPost, 10);
  cv::setIdentity(filter.processNoiseCov);
  for (int i = kMeasured; i < kStates; ++i) {
    filter.errorCovPost.at<double>(i, i) = 1e4;
    filter.processNoiseCov.at<double>(i, i) = 0.01;
  }
  filter.processNoiseCov.at<double>(kStates - 1, kStates - 1) = 1e-4;
  const cv::Mat measured = Measurement(box);
  measured.copyTo(filter.statePost.rowRange(0, kMeasured));
  return filter;
}

// The box where the state will be after so many frames.
Detection BoxAfter(const Detection& box, const cv::Mat& state, int frames) {
  const auto at = [&](int i) {
    return state.at<double>(i) + (i == kShape ? 0 : frames * state.at<double>(kMeasured + i));
  };
  const double area = at(kArea) > 0 ? at(kArea) : state.at<double>(kArea);
  if (!(area > 0 && at(kShape) > 0)) return box;
  const double width = std::sqrt(area * at(kShape));
  const double height = area / width;
  return {box.label, at(kX) - width / 2, at(kY) - height / 2, at(kX) + width / 2,
          at(kY) + height / 2};
}

}  // namespace

void BoxForecast::Add(const Detections& answer) {
  std::vector<Track> old = std::exchange(tracks_, {});
  for (Track& track : old) {
    track.box = BoxAfter(track.box, track.filter.statePost, 1);
    const bool vanishes =
        track.filter.statePost.at<double>(kArea) + track.filter.statePost.at<double>(kStates - 1) <=
        0;
    if (vanishes) track.filter.statePost.at<double>(kStates - 1) = 0;
    track.filter.predict();
  }
  for (const Detection& box : answer.boxes) {
    Track* best = nullptr;
    double best_overlap = kLeastOverlap;
    for (Track& track : old) {
      const double overlap = Overlap(track.box, box);
      if (track.box.label.index != box.label.index || overlap < best_overlap) continue;
      best = &track;
      best_overlap = overlap;
    }
    if (best == nullptr) {
      tracks_.push_back({box, FilterOf(box), 0});
      continue;
    }
    best->filter.correct(Measurement(box));
    tracks_.push_back({box, std::move(best->filter), 0});
    old.erase(old.begin() + (best - old.data()));
  }
  for (Track& track : old) {
    if (++track.answers_unseen > kMostUnseen) continue;
    tracks_.push_back(std::move(track));
  }
}

Detections BoxForecast::After(int frames) const {
  Detections detections;
  for (const Track& track : tracks_) {
    if (track.answers_unseen > 0) continue;
    detections.boxes.push_back(BoxAfter(track.box, track.filter.statePost, frames));
  }
  return detections;
}

}  // namespace cacheinf
