#ifndef CACHEINF_TESTS_BENCH_TRACE_PICTURE_H_
#define CACHEINF_TESTS_BENCH_TRACE_PICTURE_H_

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cacheinf {

// What a mode did while a link followed its trace. Times count from the mode's begin, in ms.
struct TraceCourse {
  struct Answer {
    double captured_ms = 0;
    double latency_ms = 0;
    std::string plan = {};
  };
  std::string name;
  double begin_ms = 0;  // by the clock that the trace runs by
  std::vector<Answer> answers = {};
  std::vector<std::pair<double, double>> in_hand = {};  // agreement, by the frame's capture
};

struct TracedLink {
  std::string title;
  double deadline_ms = 0;
  double step_ms = 0;  // of the trace
  std::vector<double> mbit = {};
};

// Draws one lap of the trace: bandwidth, latencies, which plan the first of the courses followed,
// and what is in hand, as the mean over half a second. Throws std::runtime_error if the PNG cannot
// be written.
void DrawTrace(const TracedLink& link, const std::vector<TraceCourse>& courses,
               const std::filesystem::path& file);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_TRACE_PICTURE_H_
