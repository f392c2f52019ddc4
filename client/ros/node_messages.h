#ifndef CACHEINF_CLIENT_ROS_NODE_MESSAGES_H_
#define CACHEINF_CLIENT_ROS_NODE_MESSAGES_H_

#include <fmt/core.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/ros/robot_node.h"
#include "common/answer/answers.h"
#include "common/model/picture.h"

// Images from messages, and a robot's answers as messages. A message of ROS 1 has the fields of its
// namesake of ROS 2; the type wanted, or given, says which ROS it is.

namespace cacheinf {

template <typename Time>
std::chrono::nanoseconds StampOf(const Time& time) {
  if constexpr (requires { time.nanosec; }) {
    return std::chrono::seconds(time.sec) + std::chrono::nanoseconds(time.nanosec);
  } else {
    return std::chrono::seconds(time.sec) + std::chrono::nanoseconds(time.nsec);
  }
}

template <typename Time>
void SetTime(std::chrono::nanoseconds stamp, Time& time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(stamp);
  const auto rest = static_cast<uint32_t>((stamp - seconds).count());
  time.sec = static_cast<decltype(time.sec)>(seconds.count());
  if constexpr (requires { time.nanosec; }) {
    time.nanosec = rest;
  } else {
    time.nsec = rest;
  }
}

// The image of an Image or a CompressedImage message, which must outlive it.
template <typename Message>
NodeImage NodeImageOf(const Message& message) {
  NodeImage image;
  image.stamp = StampOf(message.header.stamp);
  image.frame_id = message.header.frame_id;
  image.bytes = message.data;
  if constexpr (requires { message.encoding; }) {
    image.encoding = message.encoding;
    image.width = message.width;
    image.height = message.height;
    image.row_bytes = message.step;
    image.is_big_endian = message.is_bigendian != 0;
  } else {
    image.is_compressed = true;
  }
  return image;
}

template <typename Header>
void SetHeader(const NodeAnswer& answer, Header& header) {
  SetTime(answer.stamp, header.stamp);
  header.frame_id = answer.frame_id;
}

template <typename AnswerInfo>
void SetInfo(const NodeAnswer& answer, AnswerInfo& info) {
  const Answer& of = *answer.answer;
  SetHeader(answer, info.header);
  info.computed_from = info.header;
  SetTime(answer.computed_from_stamp, info.computed_from.stamp);
  info.moved = of.is_moved;
  info.late = answer.is_late;
  info.latency_ms = static_cast<float>(Milliseconds(answer.latency));
  info.plan = of.plan;
  const bool is_known = of.guard && of.guard->agreement;
  info.agreement =
      is_known ? static_cast<float>(*of.guard->agreement) : std::numeric_limits<float>::quiet_NaN();
}

template <typename Message>
void SetKeypoint(const Keypoint& point, const std::string& name, Message& message) {
  message.name = name;
  message.x = static_cast<float>(point.x);
  message.y = static_cast<float>(point.y);
  message.score = point.score;
}

template <typename Message>
void SetDetection(const Detection& box, const AnswerReader& reader, Message& message) {
  message.class_id = box.label.index;
  message.class_name = reader.ClassName(box.label.index);
  message.score = box.label.score;
  message.id = box.id;
  message.left = static_cast<float>(box.left);
  message.top = static_cast<float>(box.top);
  message.right = static_cast<float>(box.right);
  message.bottom = static_cast<float>(box.bottom);
  for (const Keypoint& corner : box.corners) {
    message.corners.push_back(static_cast<float>(corner.x));
    message.corners.push_back(static_cast<float>(corner.y));
  }
  for (const Keypoint& point : box.keypoints) {
    SetKeypoint(point, "", message.keypoints.emplace_back());
  }
  message.mask.assign(box.mask.lengths.begin(), box.mask.lengths.end());
}

// REQUIRES for the four functions below: content of that kind.

template <typename Message>
Message DetectionsOf(const NodeAnswer& answer) {
  Message message;
  SetHeader(answer, message.header);
  SetInfo(answer, message.info);
  for (const Detection& box : std::get<Detections>(answer.answer->content).boxes) {
    SetDetection(box, *answer.reader, message.detections.emplace_back());
  }
  return message;
}

template <typename Message>
Message KeypointsOf(const NodeAnswer& answer) {
  const auto& content = std::get<Keypoints>(answer.answer->content);
  Message message;
  SetHeader(answer, message.header);
  SetInfo(answer, message.info);
  for (const Keypoint& point : content.points) {
    const int index = static_cast<int>(message.keypoints.size());
    SetKeypoint(point, content.has_order ? answer.reader->ClassName(index) : "",
                message.keypoints.emplace_back());
  }
  return message;
}

template <typename Message>
Message ClassificationOf(const NodeAnswer& answer) {
  Message message;
  SetHeader(answer, message.header);
  SetInfo(answer, message.info);
  for (const ScoredClass& scored : std::get<Classification>(answer.answer->content).best) {
    auto& one = message.classes.emplace_back();
    one.class_id = scored.index;
    one.class_name = answer.reader->ClassName(scored.index);
    one.score = scored.score;
  }
  return message;
}

template <typename Level, typename Message>
void SetLevels(const std::vector<int32_t>& classes, Message& image) {
  image.step = image.width * sizeof(Level);
  image.data.resize(size_t{image.step} * image.height);
  uint8_t* to = image.data.data();
  for (const int32_t index : classes) {
    const Level level = index < 0 ? std::numeric_limits<Level>::max() : static_cast<Level>(index);
    std::memcpy(to, &level, sizeof level);
    to += sizeof level;
  }
}

// The class of each pixel: mono8 if there are at most 255 classes, else 16UC1; the largest number
// where the network does not see the image.
template <typename Message>
Message SegmentationOf(const NodeAnswer& answer) {
  Message image;
  SetHeader(answer, image.header);
  image.width = static_cast<uint32_t>(answer.width);
  image.height = static_cast<uint32_t>(answer.height);
  const int classes = answer.reader->class_count();
  const bool is_small = classes > 0 && classes <= std::numeric_limits<uint8_t>::max();
  image.encoding = is_small ? "mono8" : "16UC1";
  if (is_small) {
    SetLevels<uint8_t>(answer.classes, image);
  } else {
    SetLevels<uint16_t>(answer.classes, image);
  }
  return image;
}

template <typename Message>
Message ImageOf(const NodeAnswer& answer, const Picture& picture) {
  Message image;
  SetHeader(answer, image.header);
  image.width = static_cast<uint32_t>(picture.width);
  image.height = static_cast<uint32_t>(picture.height);
  image.encoding = picture.channels == 1 ? "mono8" : "bgr8";
  image.step = image.width * static_cast<uint32_t>(picture.channels);
  image.data.reserve(size_t{image.step} * image.height);
  for (int y = 0; y < picture.height; ++y) {
    image.data.insert(image.data.end(), picture.Row(y), picture.Row(y) + image.step);
  }
  return image;
}

template <typename Message>
Message StatusOf(const NodeStatus& status, std::chrono::nanoseconds now) {
  Message message;
  SetTime(now, message.header.stamp);
  message.camera = status.camera;
  message.active = status.is_active;
  message.mode = status.mode;
  message.plan = status.plan;
  message.why = status.why;
  message.server = status.server;
  message.has_server = status.has_server;
  message.link_mbit = static_cast<float>(status.link_mbit);
  message.round_trip_ms = static_cast<float>(status.round_trip_ms);
  message.images = status.images;
  message.answers = status.answers;
  message.moved = status.moved;
  message.late = status.late;
  message.dropped = status.dropped;
  message.p50_ms = static_cast<float>(status.p50_ms);
  message.p95_ms = static_cast<float>(status.p95_ms);
  message.reuse = static_cast<float>(status.reuse);
  message.deadline_ms = static_cast<float>(status.deadline_ms);
  message.in_hand = static_cast<float>(status.in_hand);
  message.guard = status.guard;
  message.refusal = status.refusal;
  message.misfit = status.misfit;
  return message;
}

// A DiagnosticStatus.
template <typename Message>
Message DiagnosticOf(const NodeStatus& status, const std::string& node) {
  Message message;
  message.name = status.camera.empty() ? node : node + ": " + status.camera;
  message.hardware_id = "cacheinf";
  message.level = Message::OK;
  message.message = status.is_active ? fmt::format("{} answers", status.answers) : "not active";
  const auto warn = [&message](const std::string& why) {
    message.level = Message::WARN;
    message.message = why;
  };
  if (!status.server.empty() && !status.has_server) warn("no server at " + status.server);
  if (status.late > 0) warn(fmt::format("{} of {} answers late", status.late, status.answers));
  if (!status.misfit.empty()) warn(status.misfit);
  if (!status.refusal.empty()) {
    message.level = Message::ERROR;
    message.message = status.refusal;
  }
  const auto add = [&message](const std::string& key, std::string_view value) {
    auto& pair = message.values.emplace_back();
    pair.key = key;
    pair.value = value;
  };
  add("mode", status.mode);
  add("plan", status.plan);
  add("why", status.why);
  add("latency p50 (ms)", fmt::format("{:.1f}", status.p50_ms));
  add("latency p95 (ms)", fmt::format("{:.1f}", status.p95_ms));
  if (status.deadline_ms > 0) {
    add(fmt::format("in hand at {:g} ms", status.deadline_ms),
        fmt::format("{:.2f}", status.in_hand));
  }
  add("moved", std::to_string(status.moved));
  add("late", std::to_string(status.late));
  add("dropped", std::to_string(status.dropped));
  add("server", status.server.empty() ? "none" : status.has_server ? "connected" : "not there");
  if (status.link_mbit > 0) add("link (Mbit/s)", fmt::format("{:.1f}", status.link_mbit));
  add("reuse", fmt::format("{:.2f}", status.reuse));
  add("guard", status.guard);
  return message;
}

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROS_NODE_MESSAGES_H_
