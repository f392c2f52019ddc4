#ifndef CACHEINF_TESTS_CLIENT_EIGHT_BIT_DEMO_H_
#define CACHEINF_TESTS_CLIENT_EIGHT_BIT_DEMO_H_

#include <filesystem>

#include "common/config/robot_config.h"
#include "common/model/graph/pack.h"
#include "common/model/load.h"
#include "common/model/passes/passes.h"
#include "tests/client/demo_config.h"
#include "tests/testing/quantised_networks.h"

namespace cacheinf {

// DemoConfig for pictures of this size, of the demo's network quantised, which is written to
// `file`.
inline RobotConfig EightBitDemoConfig(int height, int width, const std::filesystem::path& file) {
  const Shape shape = {1, 3, height, width};
  RobotConfig config = DemoConfig(ToString(shape));
  Graph graph = Quantised(LoadModel(config.model, LoadOptions{.input_shapes = {shape}}));
  Optimise(graph);
  WritePack(graph, file);
  config.model = file.string();
  return config;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_CLIENT_EIGHT_BIT_DEMO_H_
