#ifndef CACHEINF_TESTS_GPU_TIMING_H_
#define CACHEINF_TESTS_GPU_TIMING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"
#include "tests/gpu/place.h"

namespace cacheinf {

// Frames of a network of which a rectangle of that share of the picture changes.
struct FrameTime {
  double active = 1.0;  // 1: whole frames
  std::string policy;   // "dense", "exact", "fixed"
  double median_ms = 0.0;
  double p95_ms = 0.0;
  double work = 1.0;  // share of the multiply-adds
  int frames = 0;
};

// A frame's time has all that it takes: its picture to the device, the network, the answer back.
// About `seconds` for each row. The first is of whole frames.
std::vector<FrameTime> TimeFrames(const Graph& graph, const Place& place, double seconds);

// Whole frames where nothing is kept.
struct DenseTime {
  FrameTime frame;
  size_t device_bytes = 0;  // at most, weights among them
};
DenseTime TimeDenseFrames(const Graph& graph, const Place& place, double seconds);

struct OperatorTime {
  const Operator* op = nullptr;
  double ms = 0.0;
  int64_t multiply_adds = 0;
};

// What each operator takes for all of its output, run again and again with nothing in between.
std::vector<OperatorTime> TimeOperators(const Graph& graph, const Place& place);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_GPU_TIMING_H_
