#ifndef CACHEINF_CLIENT_ROS_ROS2_DETECTIONS_2D_H_
#define CACHEINF_CLIENT_ROS_ROS2_DETECTIONS_2D_H_

#include <string>
#include <utility>
#include <variant>
#include <vision_msgs/msg/detection2_d_array.hpp>

#include "client/ros/node_messages.h"
#include "client/ros/robot_node.h"
#include "common/answer/answers.h"

namespace cacheinf::ros2 {

// REQUIRES: boxes.
inline vision_msgs::msg::Detection2DArray Detections2DOf(const NodeAnswer& answer) {
  vision_msgs::msg::Detection2DArray message;
  SetHeader(answer, message.header);
  for (const Detection& box : std::get<Detections>(answer.answer->content).boxes) {
    vision_msgs::msg::Detection2D one;
    one.header = message.header;
    if (box.id != 0) one.id = std::to_string(box.id);
    one.bbox.center.position.x = (box.left + box.right) / 2;
    one.bbox.center.position.y = (box.top + box.bottom) / 2;
    one.bbox.size_x = box.right - box.left;
    one.bbox.size_y = box.bottom - box.top;
    one.results.resize(1);
    one.results[0].hypothesis.class_id = answer.reader->ClassName(box.label.index);
    one.results[0].hypothesis.score = box.label.score;
    message.detections.push_back(std::move(one));
  }
  return message;
}

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_DETECTIONS_2D_H_
