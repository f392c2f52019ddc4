#ifndef CACHEINF_TESTS_GPU_TIMING_H_
#define CACHEINF_TESTS_GPU_TIMING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"
#include "tests/gpu/place.h"

namespace cacheinf {

// The time of frames in which a rectangle, this share of the picture, changes.
struct FrameTime {
  double active = 1.0;  // 1: whole frames
  std::string policy;   // "dense", "exact", "fixed"
  double median_ms = 0.0;
  double p95_ms = 0.0;
  double work = 1.0;  // share of a dense run's multiply-adds
  int frames = 0;
};

// Times frames, each from sending its picture to the device to fetching its answer, for about
// `seconds` a row. The first row is of whole frames.
std::vector<FrameTime> TimeFrames(const Graph& graph, const Place& place, double seconds);

// Whole frames, with nothing kept.
struct DenseTime {
  FrameTime frame;
  size_t device_bytes = 0;  // the most in use, weights included
};
DenseTime TimeDenseFrames(const Graph& graph, const Place& place, double seconds);

struct OperatorTime {
  const Operator* op = nullptr;
  double ms = 0.0;
  int64_t multiply_adds = 0;
};

// Times each operator on its whole output, run again and again.
std::vector<OperatorTime> TimeOperators(const Graph& graph, const Place& place);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_GPU_TIMING_H_
