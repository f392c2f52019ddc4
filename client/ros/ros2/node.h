#ifndef CACHEINF_CLIENT_ROS_ROS2_NODE_H_
#define CACHEINF_CLIENT_ROS_ROS2_NODE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/ros/robot_node.h"
#include "client/ros/ros2/lifecycle.h"
#include "client/ros/ros2/parameters.h"
#include "client/ros/ros2/rcl_node.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"

namespace cacheinf::ros2 {

// What the node adds to the robot's configuration.
struct NodeSettings {
  std::vector<std::string> cameras;  // none: one, whose topics have no prefix
  bool is_always_on = false;
  bool takes_compressed = false;
  bool is_image_reliable = false;
  bool is_result_reliable = true;
  bool starts_by_itself = true;
  bool uses_sim_time = false;
};

// Takes these from the parameters that were given. Throws InputError, in one sentence.
NodeSettings TakeOwnParameters(std::map<std::string, ParameterValue>& given);

// A robot as a managed node of ROS 2. For each camera it subscribes to images as long as somebody
// listens to what it makes of them, and publishes (docs/ros.md has the list). One thread calls
// Spin; the robot has another, and publishes on that.
class Node final : public NodeListener {
 public:
  // Throws RosError. A model that cannot be loaded is logged, and ends Spin at once if the node
  // starts by itself.
  Node(RclNode& ros, const NodeSettings& settings, RobotConfig config, const Clock& clock);
  ~Node() override;

  // Until stop, shutdown as a managed node, or a failure. Returns whether all is well.
  bool Spin(const std::atomic<bool>& stop);

  void Publish(const NodeAnswer& answer) override;
  void Fail(const std::string& why) override;

 private:
  class Camera;

  std::vector<Parameter> Parameters() const;
  std::string ChangeParameters(const NamedValues& values);
  bool TakeTransition(uint8_t transition);
  bool Configure();
  void CleanUp();
  void Serve();
  void PublishStatus();

  RclNode& ros_;
  RobotConfig config_;  // before the robot is there
  NodeSettings settings_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Waitable>> services_;
  std::unique_ptr<ParameterServer> parameters_;
  std::unique_ptr<Lifecycle> lifecycle_;
  Publisher<diagnostic_msgs::msg::DiagnosticArray> diagnostics_;
  std::vector<std::unique_ptr<Camera>> cameras_;
  std::vector<std::unique_ptr<Camera>> retired_;  // until nobody waits for their images
  std::unique_ptr<RobotNode> robot_;  // once configured; before the cameras, to which it publishes
  bool is_active_ = false;
  std::chrono::nanoseconds next_status_{0};
  bool has_namesake_ = false;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_NODE_H_
