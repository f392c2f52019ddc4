#include "client/ros/ros2/messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <variant>

namespace cacheinf::ros2 {
namespace {

namespace own_msg = cacheinf_msgs::msg;

own_msg::Keypoint MessageOf(const Keypoint& point, const std::string& name) {
  own_msg::Keypoint message;
  message.name = name;
  message.x = static_cast<float>(point.x);
  message.y = static_cast<float>(point.y);
  message.score = point.score;
  return message;
}

own_msg::Detection MessageOf(const Detection& box, const AnswerReader& reader) {
  own_msg::Detection message;
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
  for (const Keypoint& point : box.keypoints) message.keypoints.push_back(MessageOf(point, ""));
  message.mask.assign(box.mask.lengths.begin(), box.mask.lengths.end());
  return message;
}

template <typename Level>
void FillLevels(const std::vector<int32_t>& classes, sensor_msgs::msg::Image& image) {
  image.step = image.width * sizeof(Level);
  image.data.resize(size_t{image.step} * image.height);
  uint8_t* to = image.data.data();
  for (const int32_t index : classes) {
    const Level level = index < 0 ? std::numeric_limits<Level>::max() : static_cast<Level>(index);
    std::memcpy(to, &level, sizeof level);
    to += sizeof level;
  }
}

}  // namespace

std::chrono::nanoseconds StampOf(const builtin_interfaces::msg::Time& time) {
  return std::chrono::seconds(time.sec) + std::chrono::nanoseconds(time.nanosec);
}

builtin_interfaces::msg::Time TimeOf(std::chrono::nanoseconds stamp) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(stamp);
  builtin_interfaces::msg::Time time;
  time.sec = static_cast<int32_t>(seconds.count());
  time.nanosec = static_cast<uint32_t>((stamp - seconds).count());
  return time;
}

std_msgs::msg::Header HeaderOf(const NodeAnswer& answer) {
  std_msgs::msg::Header header;
  header.stamp = TimeOf(answer.stamp);
  header.frame_id = answer.frame_id;
  return header;
}

own_msg::AnswerInfo InfoOf(const NodeAnswer& answer) {
  const Answer& of = *answer.answer;
  own_msg::AnswerInfo info;
  info.header = HeaderOf(answer);
  info.computed_from = info.header;
  info.computed_from.stamp = TimeOf(answer.computed_from_stamp);
  info.moved = of.is_moved;
  info.late = of.is_late();
  info.latency_ms = static_cast<float>(Milliseconds(of.latency()));
  info.plan = of.plan;
  const bool is_known = of.guard && of.guard->agreement;
  info.agreement =
      is_known ? static_cast<float>(*of.guard->agreement) : std::numeric_limits<float>::quiet_NaN();
  return info;
}

own_msg::Detections DetectionsOf(const NodeAnswer& answer) {
  own_msg::Detections message;
  message.header = HeaderOf(answer);
  message.info = InfoOf(answer);
  for (const Detection& box : std::get<Detections>(answer.answer->content).boxes) {
    message.detections.push_back(MessageOf(box, *answer.reader));
  }
  return message;
}

#ifdef CACHEINF_HAS_VISION_MSGS
vision_msgs::msg::Detection2DArray Detections2DOf(const NodeAnswer& answer) {
  vision_msgs::msg::Detection2DArray message;
  message.header = HeaderOf(answer);
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
#endif

own_msg::Keypoints KeypointsOf(const NodeAnswer& answer) {
  const auto& content = std::get<Keypoints>(answer.answer->content);
  own_msg::Keypoints message;
  message.header = HeaderOf(answer);
  message.info = InfoOf(answer);
  for (const Keypoint& point : content.points) {
    const int index = static_cast<int>(message.keypoints.size());
    message.keypoints.push_back(
        MessageOf(point, content.has_order ? answer.reader->ClassName(index) : ""));
  }
  return message;
}

own_msg::Classification ClassificationOf(const NodeAnswer& answer) {
  own_msg::Classification message;
  message.header = HeaderOf(answer);
  message.info = InfoOf(answer);
  for (const ScoredClass& scored : std::get<Classification>(answer.answer->content).best) {
    own_msg::ScoredClass one;
    one.class_id = scored.index;
    one.class_name = answer.reader->ClassName(scored.index);
    one.score = scored.score;
    message.classes.push_back(one);
  }
  return message;
}

sensor_msgs::msg::Image SegmentationOf(const NodeAnswer& answer) {
  sensor_msgs::msg::Image image;
  image.header = HeaderOf(answer);
  image.width = static_cast<uint32_t>(answer.width);
  image.height = static_cast<uint32_t>(answer.height);
  const int classes = answer.reader->class_count();
  const bool is_small = classes > 0 && classes <= std::numeric_limits<uint8_t>::max();
  image.encoding = is_small ? "mono8" : "16UC1";
  if (is_small) {
    FillLevels<uint8_t>(answer.classes, image);
  } else {
    FillLevels<uint16_t>(answer.classes, image);
  }
  return image;
}

sensor_msgs::msg::Image ImageOf(const NodeAnswer& answer, const Picture& picture) {
  sensor_msgs::msg::Image image;
  image.header = HeaderOf(answer);
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

own_msg::Status StatusOf(const NodeStatus& status, std::chrono::nanoseconds now) {
  own_msg::Status message;
  message.header.stamp = TimeOf(now);
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
  return message;
}

diagnostic_msgs::msg::DiagnosticStatus DiagnosticOf(const NodeStatus& status,
                                                    const std::string& node) {
  using Diagnostic = diagnostic_msgs::msg::DiagnosticStatus;
  Diagnostic message;
  message.name = status.camera.empty() ? node : node + ": " + status.camera;
  message.hardware_id = "cacheinf";
  message.level = Diagnostic::OK;
  message.message = status.is_active ? fmt::format("{} answers", status.answers) : "not active";
  const auto warn = [&message](const std::string& why) {
    message.level = Diagnostic::WARN;
    message.message = why;
  };
  if (!status.server.empty() && !status.has_server) warn("no server at " + status.server);
  if (status.late > 0) warn(fmt::format("{} of {} answers late", status.late, status.answers));
  if (!status.refusal.empty()) {
    message.level = Diagnostic::ERROR;
    message.message = status.refusal;
  }
  const auto add = [&message](const char* key, std::string value) {
    diagnostic_msgs::msg::KeyValue pair;
    pair.key = key;
    pair.value = std::move(value);
    message.values.push_back(std::move(pair));
  };
  add("mode", status.mode);
  add("plan", status.plan);
  add("why", status.why);
  add("latency p50 (ms)", fmt::format("{:.1f}", status.p50_ms));
  add("latency p95 (ms)", fmt::format("{:.1f}", status.p95_ms));
  if (status.deadline_ms > 0) {
    add(fmt::format("in hand at {:g} ms", status.deadline_ms).c_str(),
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

}  // namespace cacheinf::ros2
