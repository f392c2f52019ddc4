#include "client/robot_setup.h"

#include <utility>

#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"
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

std::function<void(const ModelState& state)> AnswerReading(const Graph& graph,
                                                           const RobotConfig& config) {
  const auto reader = std::make_shared<AnswerReader>(graph, config.model_config.decoder);
  return [reader](const ModelState& state) { (void)reader->Read(state, {}); };
}

bool NeedsProfile(const RobotConfig& config) {
  return config.mode == RobotConfig::Mode::kCacheinf && config.server.schedule.empty();
}

}  // namespace cacheinf
