#include "profiler/pack_command.h"

#include <fmt/core.h>

#include "common/config/constant_inputs.h"
#include "common/config/model_setup.h"
#include "common/config/robot_config.h"
#include "common/model/graph/pack.h"
#include "common/model/passes/passes.h"
#include "profiler/inspect.h"

namespace cacheinf {

std::string RunPackCommand(const PackCommand& command) {
  LoadOptions load = command.load;
  RobotConfig config;
  if (!command.config.empty()) config = LoadRobotConfig(command.config);
  if (load.input_shapes.empty()) load.input_shapes = config.InputShapes();
  if (load.constants.empty()) load.constants = ReadConstantInputs(config.inputs, "inputs");
  Graph graph = LoadModel(command.model, load);
  if (!command.config.empty()) {
    AddPictureAndDecoder(graph, config.model_config);
    if (load.optimise) Optimise(graph);
  }
  WritePack(graph, command.out);
  const ModelReport report = Inspect(graph);
  return fmt::format("{}: {} operators, {} parameters, {} bytes\n", command.out.string(),
                     report.operators.size(), report.parameters,
                     std::filesystem::file_size(command.out));
}

}  // namespace cacheinf
