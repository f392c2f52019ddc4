#include "common/answer/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cacheinf {
namespace {

// Buckets are as wide as 1/256 of the power of two below them; below 256 ns, one per nanosecond.
constexpr int kSubBits = 8;
constexpr int kSubBuckets = 1 << kSubBits;
constexpr size_t kBuckets = (64 - kSubBits) * kSubBuckets;
constexpr double kNanosecondsPerMillisecond = 1e6;

size_t BucketOf(uint64_t ns) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(ns)) - kSubBits - 1);
  return static_cast<size_t>(shift) * kSubBuckets + (ns >> shift);
}

double MiddleOf(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return static_cast<double>(bucket);
  const auto shift = static_cast<int>(bucket / kSubBuckets) - 1;
  const auto mantissa = static_cast<double>(bucket % kSubBuckets + kSubBuckets);
  return std::ldexp(mantissa + 0.5, shift);
}

}  // namespace

LatencyHistogram::LatencyHistogram() : counts_(kBuckets) {}

void LatencyHistogram::Add(std::chrono::nanoseconds latency) {
  const int64_t ns = std::max<int64_t>(0, latency.count());
  ++counts_[BucketOf(static_cast<uint64_t>(ns))];
  ++count_;
  sum_ns_ += static_cast<double>(ns);
  max_ns_ = std::max(max_ns_, ns);
}

double LatencyHistogram::mean_ms() const {
  return count_ == 0 ? 0 : sum_ns_ / static_cast<double>(count_) / kNanosecondsPerMillisecond;
}

double LatencyHistogram::max_ms() const {
  return static_cast<double>(max_ns_) / kNanosecondsPerMillisecond;
}

double LatencyHistogram::PercentileMs(double share) const {
  if (count_ == 0) return 0;
  const double wanted = std::max(1.0, std::ceil(share * static_cast<double>(count_)));
  double seen = 0;
  for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += static_cast<double>(counts_[bucket]);
    if (seen >= wanted) {
      return std::min(MiddleOf(bucket), static_cast<double>(max_ns_)) / kNanosecondsPerMillisecond;
    }
  }
  return max_ms();
}

void SegmentationScore::Add(int predicted, int truth) {
  const auto largest = static_cast<size_t>(std::max(predicted, truth));
  if (largest >= classes_.size()) classes_.resize(largest + 1);
  ++classes_[static_cast<size_t>(predicted)].predicted;
  ++classes_[static_cast<size_t>(truth)].truth;
  if (predicted == truth) ++classes_[static_cast<size_t>(truth)].both;
}

std::vector<double> SegmentationScore::ClassIou() const {
  std::vector<double> iou;
  for (const OfClass& of_class : classes_) {
    iou.push_back(of_class.either() > 0
                      ? static_cast<double>(of_class.both) / static_cast<double>(of_class.either())
                      : -1.0);
  }
  return iou;
}

double SegmentationScore::MeanIou() const {
  double sum = 0;
  int classes = 0;
  for (const double iou : ClassIou()) {
    if (iou < 0) continue;
    sum += iou;
    ++classes;
  }
  return sum / classes;
}

}  // namespace cacheinf
