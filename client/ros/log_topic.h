#ifndef CACHEINF_CLIENT_ROS_LOG_TOPIC_H_
#define CACHEINF_CLIENT_ROS_LOG_TOPIC_H_

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "client/ros/node_messages.h"
#include "common/base/log.h"

namespace cacheinf {

// Publishes what is logged on /rosout, too, under a node's name. `Message` is ROS's own.
template <typename Message>
class LogTopic {
 public:
  LogTopic(std::string name, std::function<void(const Message& message)> publish)
      : name_(std::move(name)),
        publish_(std::move(publish)),
        listener_([this](LogLevel level, std::string_view text) { Publish(level, text); }) {}

 private:
  void Publish(LogLevel level, std::string_view text) {
    Message message;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if constexpr (requires { message.header; }) {
      SetTime(now, message.header.stamp);
    } else {
      SetTime(now, message.stamp);
    }
    message.level = level >= LogLevel::kError     ? Message::ERROR
                    : level == LogLevel::kWarning ? Message::WARN
                    : level == LogLevel::kInfo    ? Message::INFO
                                                  : Message::DEBUG;
    message.name = name_;
    message.msg = text;
    publish_(message);
  }

  const std::string name_;
  const std::function<void(const Message& message)> publish_;
  const LogListener listener_;  // the last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROS_LOG_TOPIC_H_
