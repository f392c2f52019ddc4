#ifndef CACHEINF_CLIENT_ROS_ROS2_MESSAGES_H_
#define CACHEINF_CLIENT_ROS_ROS2_MESSAGES_H_

#include <cacheinf_msgs/msg/answer_info.hpp>
#include <cacheinf_msgs/msg/classification.hpp>
#include <cacheinf_msgs/msg/detections.hpp>
#include <cacheinf_msgs/msg/keypoints.hpp>
#include <cacheinf_msgs/msg/status.hpp>
#include <chrono>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <sensor_msgs/msg/image.hpp>
#ifdef CACHEINF_HAS_VISION_MSGS
#include <vision_msgs/msg/detection2_d_array.hpp>
#endif

#include "client/ros/robot_node.h"
#include "common/answer/answers.h"
#include "common/model/picture.h"

// A robot's answers as messages.

namespace cacheinf::ros2 {

std::chrono::nanoseconds StampOf(const builtin_interfaces::msg::Time& time);
builtin_interfaces::msg::Time TimeOf(std::chrono::nanoseconds stamp);

std_msgs::msg::Header HeaderOf(const NodeAnswer& answer);
cacheinf_msgs::msg::AnswerInfo InfoOf(const NodeAnswer& answer);

// REQUIRES: content of that kind.
cacheinf_msgs::msg::Detections DetectionsOf(const NodeAnswer& answer);
#ifdef CACHEINF_HAS_VISION_MSGS
vision_msgs::msg::Detection2DArray Detections2DOf(const NodeAnswer& answer);
#endif
cacheinf_msgs::msg::Keypoints KeypointsOf(const NodeAnswer& answer);
cacheinf_msgs::msg::Classification ClassificationOf(const NodeAnswer& answer);

// Of each pixel its class: mono8 where the classes are at most 255, else 16UC1; the largest number
// where the network does not see the image.
sensor_msgs::msg::Image SegmentationOf(const NodeAnswer& answer);

sensor_msgs::msg::Image ImageOf(const NodeAnswer& answer, const Picture& picture);

cacheinf_msgs::msg::Status StatusOf(const NodeStatus& status, std::chrono::nanoseconds now);
diagnostic_msgs::msg::DiagnosticStatus DiagnosticOf(const NodeStatus& status,
                                                    const std::string& node);

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_MESSAGES_H_
