#ifndef CACHEINF_TESTS_BENCH_CUT_COSTS_H_
#define CACHEINF_TESTS_BENCH_CUT_COSTS_H_

#include <cstdint>
#include <vector>

#include "common/model/graph/graph.h"

// What it would take to cut a network in two: the robot runs an operator and all before it, a
// server all after it.

namespace cacheinf {

// What the server's operators read from the robot, each value once: a concatenation crosses as its
// parts, and a slice with the value that it is a slice of, if that crosses too. `last` is the
// robot's last operator; kNone: the server runs them all.
std::vector<ValueId> CrossingValues(const Graph& graph, OpId last);

// How many rows both sides compute if each computes half of the map's rows from the graph's inputs,
// summed over all operators: their halos. REQUIRES: a map of at least two rows.
int64_t RowsTwice(const Graph& graph, ValueId map);

struct LinkModel {
  double mbit = 0;        // 10^6 bits a second
  double latency_ms = 0;  // of a message, one way

  double Ms(double bytes) const { return latency_ms + bytes * 8 / (mbit * 1000); }
};

// A frame that a server computes part of, in milliseconds of the robot's processor.
struct SharedCost {
  double robot_ms = 0;   // before anything crosses, with encoding
  double server_ms = 0;  // after that, with decoding
  double bytes = 0;      // across the link; 0: nothing changed, so the server is not asked
  double answer_bytes = 0;
  double left_ms = 0;  // that the robot needs in any case

  // The sum of all, with a server that is `speedup` times as fast.
  double Ms(const LinkModel& link, double speedup) const;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_CUT_COSTS_H_
