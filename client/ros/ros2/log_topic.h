#ifndef CACHEINF_CLIENT_ROS_ROS2_LOG_TOPIC_H_
#define CACHEINF_CLIENT_ROS_ROS2_LOG_TOPIC_H_

#include <rcl/logging_rosout.h>

#include <chrono>
#include <rcl_interfaces/msg/log.hpp>
#include <string>
#include <string_view>

#include "client/ros/node_messages.h"
#include "client/ros/ros2/rcl_node.h"
#include "common/base/log.h"

namespace cacheinf::ros2 {

// Publishes what is logged on /rosout, too, under the node's name.
class LogTopic {
 public:
  explicit LogTopic(RclNode& node)
      : name_(node.name()),
        publisher_(node, "/rosout", rcl_qos_profile_rosout_default),
        listener_([this](LogLevel level, std::string_view text) { Publish(level, text); }) {}

 private:
  void Publish(LogLevel level, std::string_view text) {
    using Message = rcl_interfaces::msg::Log;
    Message message;
    SetTime(std::chrono::system_clock::now().time_since_epoch(), message.stamp);
    message.level = level >= LogLevel::kError     ? Message::ERROR
                    : level == LogLevel::kWarning ? Message::WARN
                    : level == LogLevel::kInfo    ? Message::INFO
                                                  : Message::DEBUG;
    message.name = name_;
    message.msg = text;
    try {
      publisher_.Publish(message);
    } catch (const RosError&) {
      // It is on standard error.
    }
  }

  const std::string name_;
  Publisher<rcl_interfaces::msg::Log> publisher_;
  const LogListener listener_;  // the last member: it uses all others
};

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_LOG_TOPIC_H_
