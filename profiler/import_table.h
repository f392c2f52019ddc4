#ifndef CACHEINF_PROFILER_IMPORT_TABLE_H_
#define CACHEINF_PROFILER_IMPORT_TABLE_H_

#include <filesystem>
#include <vector>

#include "common/plan/profile.h"

namespace cacheinf {

// Times of operators on both sides, measured elsewhere:
//
//   {"model": …, "robot": …, "server": …, "ops": [{"id": 0, "op": "conv2d", "inputs": [], "shapes":
//    [[1, 3, 960, 1280]], "local": true, "robot_ms": 2.2, "server_ms": null}, …]}
//
// with PyTorch's names of operators. `_start` gives the picture, `_end` takes the outputs; a
// missing shape is the first input's.
struct ImportCommand {
  std::filesystem::path table;
  Side side = Side::kRobot;
  // How many times slower the robot is, where the table lacks the server's times; 0: as over all of
  // `references`, which have both.
  double speedup = 0;
  std::vector<std::filesystem::path> references;
  std::vector<double> watts;  // computing, sending, waiting; empty: unknown
};

// Returns one side's profile of a table. Assumes what the table does not say, and lists that.
// Throws InputError if a file is damaged or times are missing.
Profile ImportTable(const ImportCommand& command);

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_IMPORT_TABLE_H_
