#include "client/robot_setup.h"

#include <utility>

#include "profiler/machine.h"

namespace cacheinf {

int ThreadsToUse(const RobotConfig& config) {
  return config.threads == 0 ? CoresToUse(DescribeMachine()) : config.threads;
}

std::unique_ptr<Backend> MakeBackend(const RobotConfig& config) {
  return MakeBackend(config, ThreadsToUse(config));
}

std::shared_ptr<const CompiledModel> Compile(Graph graph, const RobotConfig& config) {
  return std::make_shared<const CompiledModel>(std::make_shared<const Graph>(std::move(graph)),
                                               MakeBackend(config));
}

}  // namespace cacheinf
