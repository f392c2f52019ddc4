#ifndef CACHEINF_CLIENT_ROS_ROS1_NODE_H_
#define CACHEINF_CLIENT_ROS_ROS1_NODE_H_

#include <ros/ros.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/ros/robot_node.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"

namespace cacheinf::ros1 {

// What the node adds to the robot's configuration.
struct NodeSettings {
  std::vector<std::string> cameras;  // none: one, whose topics have no prefix
  bool is_always_on = false;
  bool takes_compressed = false;
};

// The private parameters of a node: "~server/address" is "server.address", a list "left,right".
// Throws InputError.
std::map<std::string, std::string> ParametersOf(const ros::NodeHandle& own);

// Takes these options from the parameters. Throws InputError, in one sentence.
NodeSettings TakeOwnParameters(std::map<std::string, std::string>& parameters);

// A robot as a node of ROS 1, or as a nodelet: for each camera it subscribes to images as long as
// somebody listens to what it makes of them, and publishes (docs/ros.md has the list). Works in the
// callbacks of the handles' queue; the robot has a thread of its own, and publishes on that.
class Node final : public NodeListener {
 public:
  // Loads the model. Throws InputError. `own` handles the private names.
  Node(const ros::NodeHandle& topics, const ros::NodeHandle& own, const NodeSettings& settings,
       const RobotConfig& config, const Clock& clock);
  ~Node() override;

  // Whether the node has stopped answering, because what it computes contradicts its configuration;
  // it has logged why.
  bool has_failed() const { return has_failed_; }

  void Publish(const NodeAnswer& answer) override;
  void Fail(const std::string& why) override;

 private:
  class Camera;

  void Serve();
  void LookWhoListens();
  std::string SetMode(const std::string& mode);
  std::string Reload(const std::string& model);
  std::string SetActive(bool is_active);
  void PublishStatus();

  ros::NodeHandle topics_;
  ros::NodeHandle own_;
  const NodeSettings settings_;
  std::mutex mutex_;  // for callbacks, which a nodelet's threads may call while the node is made
  bool is_active_ = true;
  std::unique_ptr<RobotNode> robot_;
  std::vector<std::unique_ptr<Camera>> cameras_;
  ros::Publisher diagnostics_;
  std::vector<ros::ServiceServer> services_;
  ros::SteadyTimer status_timer_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace cacheinf::ros1

#endif  // CACHEINF_CLIENT_ROS_ROS1_NODE_H_
