#ifndef CACHEINF_CLIENT_ROBOT_SETUP_H_
#define CACHEINF_CLIENT_ROBOT_SETUP_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/config/configured_model.h"  // IWYU pragma: export
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/plan/profile.h"

// Makes a robot's parts from a configuration.

namespace cacheinf {

// Returns the configured number of threads, or the number of cores this process may use.
int ThreadsToUse(const RobotConfig& config);

std::unique_ptr<Backend> MakeBackend(const RobotConfig& config);

// Makes the backend that the configuration names.
using BackendMaker = std::function<std::unique_ptr<Backend>(const RobotConfig& config)>;

// Compiles the graph for a robot, its guard and its check. Throws InputError if the backend cannot
// run it.
std::shared_ptr<const CompiledModel> Compile(Graph graph, const RobotConfig& config);

// Returns a function that reads a frame's answer from the outputs and drops it, to measure how long
// that takes. The graph must outlive it.
std::function<void(const ModelState& state)> AnswerReading(const Graph& graph,
                                                           const RobotConfig& config);

// Whether a server is to make a schedule from the robot's profile.
bool NeedsProfile(const RobotConfig& config);

// Returns what the model costs on this machine. The first time it measures that if it
// `may_measure`, which takes a while, shows progress, and calls `meanwhile` now and then; else it
// makes a rough guess. Throws InputError if `stop` interrupts it.
Profile ProfileFor(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
                   bool may_measure, const Clock& clock, const std::atomic<bool>& stop,
                   const std::function<void()>& meanwhile);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROBOT_SETUP_H_
