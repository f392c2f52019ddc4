#ifndef CACHEINF_CLIENT_ROS_ROS2_PARAMETERS_H_
#define CACHEINF_CLIENT_ROS_ROS2_PARAMETERS_H_

#include <functional>
#include <memory>
#include <rcl_interfaces/msg/parameter_event.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/ros/ros2/parameter_value.h"
#include "client/ros/ros2/rcl_node.h"
#include "common/config/robot_config.h"

namespace cacheinf::ros2 {

struct Parameter {
  std::string name;
  ParameterValue value;
  std::string description;
  std::string constraints = {};  // in words; empty: none
  bool is_read_only = false;
};

using NamedValues = std::vector<std::pair<std::string, ParameterValue>>;

// The keys of a configuration that `is_wanted`, as parameters.
std::vector<Parameter> ParametersOf(RobotConfig config,
                                    const std::function<bool(const std::string& key)>& is_wanted);

// A key's value as SetField takes it. Throws InputError if the key takes a text and the value is
// not one.
std::string TextOf(const std::string& key, const ParameterValue& value);

// A node's parameters, by the six services that every client knows, and the topic of their changes.
class ParameterServer {
 public:
  // All parameters as they are now.
  using List = std::function<std::vector<Parameter>()>;
  // Sets all or none. Returns why not; empty if it did.
  using Change = std::function<std::string(const NamedValues& values)>;

  ParameterServer(RclNode& node, List list, Change change);

  std::vector<Waitable*> waitables() const;

 private:
  std::string Set(const NamedValues& values);

  RclNode& node_;
  const List list_;
  const Change change_;
  Publisher<rcl_interfaces::msg::ParameterEvent> events_;
  std::vector<std::unique_ptr<Waitable>> services_;
};

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_PARAMETERS_H_
