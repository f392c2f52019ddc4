#ifndef CACHEINF_CLIENT_RUN_RUN_H_
#define CACHEINF_CLIENT_RUN_RUN_H_

#include <atomic>

#include "client/robot_setup.h"
#include "client/run/summary.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/model/graph/graph.h"
#include "common/source/frame_queue.h"

namespace cacheinf {

// Runs a model on a source as configured, until the source ends, enough frames are answered, or
// `stop` becomes true, and writes the configured outputs. If a GPU is lost or lacks memory, the
// processor answers that frame and all later ones; the check, the guard and recordings then start
// over, and no schedule is made. Throws InputError, in one sentence, for what the user can fix, and
// Stopped if `stop` comes before the source is open. A source that is still silent at the end is
// left alone, so clock and `stop` must last as long as the process. REQUIRES: a checked
// configuration.
Summary RunRobot(const RobotConfig& config, const Clock& clock, const std::atomic<bool>& stop);

// Does the same with a loaded model and an open source. `clock` must be the one that stamps live
// frames. REQUIRES: a graph as LoadNetwork returns it for such frames.
Summary RunRobotOn(
    FrameQueue& source, Graph network, const RobotConfig& config, const Clock& clock,
    const std::atomic<bool>& stop,
    const BackendMaker& make_backend = [](const RobotConfig& of) { return MakeBackend(of); });

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_RUN_H_
