#include "profiler/pack_command.h"

#include <fmt/format.h>

#include "common/config/model_setup.h"
#include "common/config/robot_config.h"
#include "common/model/pack.h"
#include "common/model/passes.h"
#include "profiler/inspect.h"

namespace cacheinf {

std::string RunPackCommand(const PackCommand& command) {
  Graph graph = LoadModel(command.model, command.load);
  if (!command.config.empty()) {
    AddPictureAndDecoder(graph, LoadRobotConfig(command.config).model_config);
    if (command.load.optimise) Optimise(graph);
  }
  WritePack(graph, command.out);
  const ModelReport report = Inspect(graph);
  return fmt::format("{}: {} operators, {} parameters, {} bytes\n", command.out.string(),
                     report.operators.size(), report.parameters,
                     std::filesystem::file_size(command.out));
}

}  // namespace cacheinf
