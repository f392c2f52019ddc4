#ifndef CACHEINF_TESTS_BENCH_MODE_LIST_H_
#define CACHEINF_TESTS_BENCH_MODE_LIST_H_

#include <optional>
#include <string>
#include <vector>

#include "common/config/robot_config.h"
#include "common/plan/plan.h"
#include "tests/bench/mode_subject.h"

namespace cacheinf {

// A way to answer a subject's frames: with a robot, alone or with a server, or with a rival.
struct Mode {
  std::string name;
  RobotConfig config = {};        // of robots of ours
  std::optional<Plan> plan = {};  // that means the same
  bool needs_server = false;
  bool may_go_without = false;  // the server
  bool is_small = false;
  bool is_plain_video = false;
  int every = 1;  // frames of which one is answered; the others get its answer again
};

// All modes but the planners'.
std::vector<Mode> ModesOf(const Subject& subject);

// The mode in which a robot follows the plan; nothing if there is none.
std::optional<Mode> ModeOf(const Subject& subject, const Plan& plan);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_LIST_H_
