#include <rcl/logging_rosout.h>

#include <atomic>
#include <map>
#include <rcl_interfaces/msg/log.hpp>
#include <string>

#include "client/ros/log_topic.h"
#include "client/ros/node_options.h"
#include "client/ros/ros2/node.h"
#include "client/ros/ros2/parameters.h"
#include "client/ros/ros2/rcl_node.h"
#include "common/base/clock.h"
#include "common/base/program.h"

namespace cacheinf {
namespace {

// A stop counts even before main: libraries take longer to start than the node.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kStopEarly)() = [] {
  (void)StopOnSignals();
};

int Run(int argc, char** argv) {
  const std::atomic<bool>& stop = StopOnSignals();
  ros2::RclNode ros(argc, argv, "cacheinf");
  using Log = rcl_interfaces::msg::Log;
  ros2::Publisher<Log> rosout(ros, "/rosout", rcl_qos_profile_rosout_default);
  const LogTopic<Log> log(ros.name(), [&rosout](const Log& message) {
    try {
      rosout.Publish(message);
    } catch (const ros2::RosError&) {
      // The error is already on standard error.
    }
  });
  std::map<std::string, ros2::ParameterValue> given = ros.GivenParameters();
  const ros2::NodeSettings settings = ros2::TakeOwnParameters(given);
  std::map<std::string, std::string> parameters;
  for (const auto& [key, value] : given) parameters.emplace(key, ros2::TextOf(key, value));
  const auto config = ReadNodeOptions(
      {"cacheinf-ros2",
       "CacheInf's robot as a node of ROS 2: answers every image of a camera with a convolutional "
       "network. Every option is a parameter as well (--ros-args -p mode:=cache).",
       CACHEINF_VERSION},
      ros.other_arguments(), parameters);
  if (!config) return 0;
  const SteadyClock clock;
  ros2::Node node(ros, settings, *config, clock);
  return node.Spin(stop) ? 0 : 2;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-ros2", [&] { return cacheinf::Run(argc, argv); });
}
