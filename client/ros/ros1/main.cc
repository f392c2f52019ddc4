#include <fmt/core.h>
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <rosgraph_msgs/Log.h>

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/ros/log_topic.h"
#include "client/ros/node_options.h"
#include "client/ros/ros1/node.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/program.h"

namespace cacheinf {
namespace {

const NodeProgram kProgram = {
    "cacheinf-ros1",
    "CacheInf's robot as a node of ROS 1: answers every image of a camera with a convolutional "
    "network. Every option is a private parameter as well (_mode:=cache).",
    CACHEINF_VERSION};

// Starts ROS. If there are private parameters, that waits for a master; a stop must not.
void Init(int argc, char** argv, const std::atomic<bool>& stop) {
  std::atomic<bool> is_done = false;
  std::thread watch([&] {
    while (!stop && !is_done) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!is_done) ros::shutdown();
  });
  ros::init(argc, argv, "cacheinf", ros::init_options::NoSigintHandler);
  is_done = true;
  watch.join();
}

// Returns whether there is one.
bool WaitForMaster(const std::atomic<bool>& stop) {
  bool is_told = false;
  while (!stop && !ros::master::check()) {
    if (!is_told) LogInfo(fmt::format("waiting for a master at {}", ros::master::getURI()));
    is_told = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return !stop;
}

// A stop counts even before main: libraries take longer to start than the node.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kStopEarly)() = [] {
  (void)StopOnSignals();
};

int Run(int argc, char** argv) {
  const std::atomic<bool>& stop = StopOnSignals();
  std::vector<std::string> arguments;
  ros::removeROSArgs(argc, argv, arguments);
  arguments.erase(arguments.begin());
  // Do first what needs no master.
  if (!CheckNodeOptions(kProgram, arguments)) return 0;
  Init(argc, argv, stop);
  if (!WaitForMaster(stop)) return 0;
  const ros::NodeHandle topics;
  const ros::NodeHandle own("~");
  // roscpp asks for it at its first message. If that happened only when a namesake shuts this node
  // down, the master would take this node for the newer one, and shut down the namesake as well.
  bool is_disabled = false;
  (void)ros::param::getCached("/rosout_disable_topics_generation", is_disabled);
  const ros::Publisher rosout = ros::NodeHandle().advertise<rosgraph_msgs::Log>("/rosout", 100);
  const LogTopic<rosgraph_msgs::Log> log(ros::this_node::getName(),
                                         [&](const auto& message) { rosout.publish(message); });
  std::map<std::string, std::string> parameters = ros1::ParametersOf(own);
  const ros1::NodeSettings settings = ros1::TakeOwnParameters(parameters);
  const auto config = ReadNodeOptions(kProgram, arguments, parameters);
  const SteadyClock clock;
  const ros1::Node node(topics, own, settings, *config, clock);
  while (!stop && !node.has_failed() && ros::ok()) {
    ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.05));
  }
  return node.has_failed() ? 2 : 0;
}

}  // namespace
}  // namespace cacheinf

int main(int argc, char** argv) {
  return cacheinf::RunProgram("cacheinf-ros1", [&] { return cacheinf::Run(argc, argv); });
}
