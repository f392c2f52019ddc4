#ifndef CACHEINF_CLIENT_RUN_H_
#define CACHEINF_CLIENT_RUN_H_

#include <atomic>

#include "client/summary.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"

namespace cacheinf {

// Runs a model on a source as the configuration says, until the source ends, the frames asked for
// are answered, or `stop` becomes true, and writes what the configuration asks for.
// Throws InputError in one sentence for what the user can put right. REQUIRES: a checked
// configuration.
Summary RunRobot(const RobotConfig& config, const Clock& clock, const std::atomic<bool>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_H_
