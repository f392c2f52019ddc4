#ifndef CACHEINF_CLIENT_ROS_ROS1_LOG_TOPIC_H_
#define CACHEINF_CLIENT_ROS_ROS1_LOG_TOPIC_H_

#include <ros/ros.h>
#include <rosgraph_msgs/Log.h>

#include <string>
#include <string_view>
#include <utility>

#include "common/base/log.h"

namespace cacheinf::ros1 {

// Publishes what is logged on /rosout, too, under a node's name.
class LogTopic {
 public:
  // Not by the handle of a nodelet, whose queue may go sooner.
  explicit LogTopic(std::string name)
      : name_(std::move(name)),
        publisher_(ros::NodeHandle().advertise<rosgraph_msgs::Log>("/rosout", 100)),
        listener_([this](LogLevel level, std::string_view text) { Publish(level, text); }) {}

 private:
  void Publish(LogLevel level, std::string_view text) {
    using Message = rosgraph_msgs::Log;
    Message message;
    message.header.stamp = ros::Time(ros::WallTime::now().toSec());
    message.level = level >= LogLevel::kError     ? Message::ERROR
                    : level == LogLevel::kWarning ? Message::WARN
                    : level == LogLevel::kInfo    ? Message::INFO
                                                  : Message::DEBUG;
    message.name = name_;
    message.msg = text;
    publisher_.publish(message);
  }

  const std::string name_;
  ros::Publisher publisher_;
  const LogListener listener_;  // the last member: it uses all others
};

}  // namespace cacheinf::ros1

#endif  // CACHEINF_CLIENT_ROS_ROS1_LOG_TOPIC_H_
