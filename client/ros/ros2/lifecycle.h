#ifndef CACHEINF_CLIENT_ROS_ROS2_LIFECYCLE_H_
#define CACHEINF_CLIENT_ROS_ROS2_LIFECYCLE_H_

#include <rcl_lifecycle/rcl_lifecycle.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "client/ros/ros2/rcl_node.h"

namespace cacheinf::ros2 {

// A managed node's states and services (https://design.ros2.org/articles/node_lifecycle.html):
// unconfigured, inactive, active, finalized.
class Lifecycle {
 public:
  // Does a transition, one of lifecycle_msgs' Transition. Returns whether it did; false leaves the
  // node where it was.
  using Do = std::function<bool(uint8_t transition)>;

  Lifecycle(RclNode& node, Do transition);
  ~Lifecycle();
  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  // Returns whether the node did it: not every state allows it.
  bool Change(uint8_t transition);

  bool is_finalized() const;

  std::vector<Waitable*> waitables() const;

 private:
  RclNode& node_;
  const Do do_;
  rcl_lifecycle_state_machine_t machine_ = rcl_lifecycle_get_zero_initialized_state_machine();
  std::vector<std::unique_ptr<Waitable>> services_;
};

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_LIFECYCLE_H_
