#include "profiler/pack_command.h"

#include "common/config/model_setup.h"
#include "common/config/robot_config.h"
#include "common/model/pack.h"
#include "common/model/passes.h"

namespace cacheinf {

void RunPackCommand(const PackCommand& command) {
  Graph graph = LoadModel(command.model, command.load);
  if (!command.config.empty()) {
    AddPictureAndDecoder(graph, LoadRobotConfig(command.config).model_config);
    if (command.load.optimise) Optimise(graph);
  }
  WritePack(graph, command.out);
}

}  // namespace cacheinf
