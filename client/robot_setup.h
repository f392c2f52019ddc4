#ifndef CACHEINF_CLIENT_ROBOT_SETUP_H_
#define CACHEINF_CLIENT_ROBOT_SETUP_H_

#include <functional>
#include <memory>

#include "common/config/configured_model.h"  // IWYU pragma: export
#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"

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

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROBOT_SETUP_H_
