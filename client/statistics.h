#ifndef CACHEINF_CLIENT_STATISTICS_H_
#define CACHEINF_CLIENT_STATISTICS_H_

#include <chrono>
#include <cstdint>
#include <vector>

namespace cacheinf {

// Times of any number of frames in bounded memory; percentiles to within 0.4 %.
class LatencyHistogram {
 public:
  LatencyHistogram();

  void Add(std::chrono::nanoseconds latency);

  int64_t count() const { return count_; }
  double mean_ms() const;  // 0 before the first
  double max_ms() const;

  // The smallest time that at least this share of the frames did not exceed; 0 before the first.
  double PercentileMs(double share) const;

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  double sum_ns_ = 0;
  int64_t max_ns_ = 0;
};

// Compares predicted with true classes, pixel by pixel, over any number of frames.
class SegmentationScore {
 public:
  void Add(int predicted, int truth);  // REQUIRES: not negative

  bool empty() const { return truths_.empty(); }

  // Intersection over union of each class, and -1 for classes that were neither seen nor predicted.
  std::vector<double> ClassIou() const;

  // Over the classes that were seen or predicted. REQUIRES: not empty.
  double MeanIou() const;

 private:
  std::vector<int64_t> intersections_;  // by class
  std::vector<int64_t> predictions_;
  std::vector<int64_t> truths_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_STATISTICS_H_
