#ifndef CACHEINF_COMMON_ANSWER_STATISTICS_H_
#define CACHEINF_COMMON_ANSWER_STATISTICS_H_

#include <chrono>
#include <cstdint>
#include <vector>

namespace cacheinf {

// The times of any number of frames in bounded memory; percentiles within 0.4 %.
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
  // Pixels of a class.
  struct OfClass {
    int64_t predicted = 0;
    int64_t truth = 0;
    int64_t both = 0;
    int64_t either() const { return predicted + truth - both; }
  };

  void Add(int predicted, int truth);  // REQUIRES: not negative

  bool empty() const { return classes_.empty(); }

  // From class 0 to the largest that was seen or predicted.
  const std::vector<OfClass>& classes() const { return classes_; }

  // Intersection over union of each class, and -1 for classes that were neither seen nor predicted.
  std::vector<double> ClassIou() const;

  // Over the classes that were seen or predicted. REQUIRES: not empty.
  double MeanIou() const;

 private:
  std::vector<OfClass> classes_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_STATISTICS_H_
