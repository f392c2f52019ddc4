#ifndef CACHEINF_TESTS_CLIENT_DEMO_CONFIG_H_
#define CACHEINF_TESTS_CLIENT_DEMO_CONFIG_H_

#include <string>

#include "common/config/robot_config.h"
#include "tests/testing/places.h"

namespace cacheinf {

// The demo's network for pictures of this shape ("1x3x96x128"), cached, on one thread.
inline RobotConfig DemoConfig(const std::string& shape) {
  RobotConfig config = LoadRobotConfig(SourceFolder() / "configs/demo.json");
  config.model = SourceFolder() / "configs/models/demo_segmentation.onnx";
  config.shapes = {shape};
  config.mode = RobotConfig::Mode::kCache;
  config.threads = 1;
  return config;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_CLIENT_DEMO_CONFIG_H_
