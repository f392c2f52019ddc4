#ifndef CACHEINF_TESTS_RIVALS_BOX_FORECAST_H_
#define CACHEINF_TESTS_RIVALS_BOX_FORECAST_H_

#include <opencv2/video/tracking.hpp>
#include <vector>

#include "common/answer/answers.h"

namespace cacheinf {

// How trackers of boxes continue the last answer without looking at newer pictures: each box goes
// on as it has moved so far. SORT's Kalman filter: centre, area and shape, where all but the shape
// have a constant velocity; its matrices are those of SORT's code. Boxes take tracks of their class
// greedily, best boxes first, by an overlap of at least .3.
class BoxForecast {
 public:
  // The answers to all frames, one after the other.
  void Add(const Detections& answer);

  // The last answer's boxes, so many frames later.
  Detections After(int frames) const;

 private:
  struct Track {
    Detection box;  // as the last answer has it
    cv::KalmanFilter filter;
    int answers_unseen = 0;
  };

  std::vector<Track> tracks_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_RIVALS_BOX_FORECAST_H_
