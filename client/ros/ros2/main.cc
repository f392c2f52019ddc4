#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/ros/robot_node.h"
#include "client/ros/ros2/node.h"
#include "client/ros/ros2/rcl_node.h"
#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/base/program.h"
#include "common/config/config_options.h"
#include "common/config/fields.h"
#include "common/config/robot_config.h"

namespace cacheinf {
namespace {

int Run(int argc, char** argv) {
  ros2::RclNode ros(argc, argv, "cacheinf");
  CLI::App app(
      "CacheInf's robot as a node of ROS 2: answers every image of a camera with a convolutional "
      "network. Every option is a parameter as well (--ros-args -p mode:=cache).",
      "cacheinf-ros2");
  std::set<std::string> flags;
  ForEachField(RobotConfig().Fields(), [&flags](const std::string& path, const Field& field) {
    if (RobotNode::Takes(path)) flags.insert(field.flag);
  });
  ConfigOptions options;
  options.AddTo(app, RobotConfig().Fields(), flags);
  std::vector<std::string> texts = {argv[0]};
  std::ranges::copy(ros.other_arguments(), std::back_inserter(texts));
  std::map<std::string, ros2::ParameterValue> given = ros.GivenParameters();
  const ros2::NodeSettings settings = ros2::TakeOwnParameters(given);
  for (const auto& [key, value] : given) {
    if (!RobotNode::Takes(key)) throw InputError("there is no parameter " + key);
    texts.insert(texts.end(), {"--set", key + "=" + ros2::TextOf(value)});
  }
  std::vector<const char*> arguments;
  for (const std::string& text : texts) arguments.push_back(text.c_str());
  if (const auto exit_code = ParseCommandLine(
          app, CACHEINF_VERSION, static_cast<int>(arguments.size()), arguments.data())) {
    return *exit_code;
  }
  const std::atomic<bool>& stop = StopOnSignals();
  const SteadyClock clock;
  ros2::Node node(ros, settings, EffectiveConfig(options), clock);
  return node.Spin(stop) ? 0 : 2;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-ros2", [&] { return cacheinf::Run(argc, argv); });
}
