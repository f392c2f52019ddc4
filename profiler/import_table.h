#ifndef CACHEINF_PROFILER_IMPORT_TABLE_H_
#define CACHEINF_PROFILER_IMPORT_TABLE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "common/plan/profile.h"

namespace cacheinf {

// Times of operators that somebody measured elsewhere, of both sides:
//
//   {"model": …, "robot": …, "server": …, "ops": [{"id": 0, "op": "conv2d", "inputs": [], "shapes":
//    [[1, 3, 960, 1280]], "local": true, "robot_ms": 2.2, "server_ms": null}, …]}
//
// as PyTorch names operators; `_start` gives the picture, `_end` takes the outputs, a shape that is
// missing is the first input's.
struct ImportCommand {
  std::filesystem::path table;
  Side side = Side::kRobot;
  // Where the table lacks the server's times: how many times the robot is slower; 0: as in these
  // tables, which have both, all together.
  double speedup = 0;
  std::vector<std::filesystem::path> references;
  std::vector<double> watts;  // computing, sending, waiting; empty: unknown
};

// One side's profile of a table. What that does not say is assumed and listed. Throws InputError if
// a file is damaged, or times are missing.
Profile ImportTable(const ImportCommand& command);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_IMPORT_TABLE_H_
