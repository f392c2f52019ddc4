#include <nodelet/nodelet.h>
#include <ros/ros.h>
#include <rosgraph_msgs/Log.h>

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <pluginlib/class_list_macros.hpp>
#include <string>

#include "client/ros/log_topic.h"
#include "client/ros/node_options.h"
#include "client/ros/ros1/node.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf::ros1 {

// The node in a manager's process, where images and answers are not copied.
class RobotNodelet : public nodelet::Nodelet {
  // Throws if the model cannot be loaded; the manager then refuses to load this.
  void onInit() override {
    try {
      // Not by this nodelet's own handle, whose queue may go sooner.
      rosout_ = ros::NodeHandle().advertise<rosgraph_msgs::Log>("/rosout", 100);
      log_.emplace(getName(), [this](const auto& message) { rosout_.publish(message); });
      std::map<std::string, std::string> parameters = ParametersOf(getPrivateNodeHandle());
      const NodeSettings settings = TakeOwnParameters(parameters);
      const auto config =
          ReadNodeOptions({"cacheinf/robot", "CacheInf's robot as a nodelet.", CACHEINF_VERSION},
                          getMyArgv(), parameters);
      if (!config) throw InputError("a nodelet has neither help nor a version to print");
      node_ = std::make_unique<Node>(getNodeHandle(), getPrivateNodeHandle(), settings, *config,
                                     clock_);
    } catch (const std::exception& error) {
      LogError(getName() + ": " + error.what());
      throw;
    }
  }

  SteadyClock clock_;
  ros::Publisher rosout_;
  std::optional<LogTopic<rosgraph_msgs::Log>> log_;
  std::unique_ptr<Node> node_;
};

}  // namespace cacheinf::ros1

PLUGINLIB_EXPORT_CLASS(cacheinf::ros1::RobotNodelet, nodelet::Nodelet)
