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

// From a configuration to a robot's parts.

namespace cacheinf {

// The threads that the configuration states, or all cores that this process may use.
int ThreadsToUse(const RobotConfig& config);

std::unique_ptr<Backend> MakeBackend(const RobotConfig& config);

// Makes the backend that a configuration names.
using BackendMaker = std::function<std::unique_ptr<Backend>(const RobotConfig& config)>;

// The graph on that backend, for a robot, its guard and its check. Throws InputError if the backend
// cannot run it.
std::shared_ptr<const CompiledModel> Compile(Graph graph, const RobotConfig& config);

// Reads a frame's answer out of the outputs, for nothing but the time that takes. The graph
// outlives it.
std::function<void(const ModelState& state)> AnswerReading(const Graph& graph,
                                                           const RobotConfig& config);

// What the model costs on this machine, for a server to make a schedule of; nothing in a mode that
// needs none. Measures it the first time, which takes a while and is shown. Throws InputError if
// `stop` ended that.
std::optional<Profile> ProfileFor(const std::shared_ptr<const CompiledModel>& model,
                                  const RobotConfig& config, const Clock& clock,
                                  const std::atomic<bool>& stop);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROBOT_SETUP_H_
