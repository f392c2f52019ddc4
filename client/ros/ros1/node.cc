#include "client/ros/ros1/node.h"

#include <cacheinf_msgs/AnswerInfo.h>
#include <cacheinf_msgs/Classification.h>
#include <cacheinf_msgs/Detections.h>
#include <cacheinf_msgs/Keypoints.h>
#include <cacheinf_msgs/Reload.h>
#include <cacheinf_msgs/SetMode.h>
#include <cacheinf_msgs/Status.h>
#include <diagnostic_msgs/DiagnosticArray.h>
#include <fmt/core.h>
#include <sensor_msgs/CompressedImage.h>
#include <sensor_msgs/Image.h>
#include <std_msgs/String.h>
#include <std_srvs/SetBool.h>
#include <std_srvs/Trigger.h>
#include <xmlrpcpp/XmlRpcValue.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <sstream>
#include <utility>

#include "client/ros/node_messages.h"
#include "client/ros/node_options.h"
#include "client/ros/node_topics.h"
#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf::ros1 {
namespace {

using XmlRpc::XmlRpcValue;
using Look = std::function<void()>;

std::string TextOf(const std::string& name, XmlRpcValue& value) {
  switch (value.getType()) {
    case XmlRpcValue::TypeBoolean:
      return static_cast<bool>(value) ? "true" : "false";
    case XmlRpcValue::TypeInt:
      return fmt::format("{}", static_cast<int>(value));
    case XmlRpcValue::TypeDouble:
      return fmt::format("{}", static_cast<double>(value));
    case XmlRpcValue::TypeString:
      return static_cast<std::string>(value);
    case XmlRpcValue::TypeArray: {
      std::string text;
      std::vector<std::string> texts;
      for (int i = 0; i < value.size(); ++i) {
        texts.push_back(TextOf(name, value[i]));
        text += (i > 0 ? "," : "") + texts.back();
      }
      const bool has_texts =
          value.size() > 0 && value[0].getType() == XmlRpcValue::TypeString && name != "cameras";
      return has_texts ? TextOfList(texts) : text;
    }
    default:
      throw InputError(
          fmt::format("parameter {} must be a number, a text, a truth value or a list", name));
  }
}

void AddParameters(const std::string& prefix, XmlRpcValue& of,
                   std::map<std::string, std::string>& parameters) {
  for (auto& [name, value] : of) {
    const std::string key = prefix + name;
    if (value.getType() == XmlRpcValue::TypeStruct) {
      AddParameters(key + ".", value, parameters);
      continue;
    }
    const bool is_list = value.getType() == XmlRpcValue::TypeArray;
    XmlRpcValue& one = is_list && value.size() > 0 ? value[0] : value;
    const bool is_empty = is_list && value.size() == 0;
    CheckTexts(key, is_empty || one.getType() == XmlRpcValue::TypeString, is_list);
    parameters.emplace(key, TextOf(key, value));
  }
}

bool IsTrue(const std::string& name, const std::string& text) {
  if (text != "true" && text != "false") {
    throw InputError(fmt::format("parameter {} must be true or false, not \"{}\"", name, text));
  }
  return text == "true";
}

std::vector<std::string> NamesIn(const std::string& list) {
  std::vector<std::string> names;
  std::set<std::string> all;
  std::istringstream rest(list);
  for (std::string name; std::getline(rest, name, ',');) {
    std::string why;
    if (name.empty() || !ros::names::validate(name, why)) {
      throw InputError(fmt::format("parameter cameras: \"{}\" cannot be a camera's name", name));
    }
    if (!all.insert(name).second) {
      throw InputError(fmt::format("parameter cameras names {} twice", name));
    }
    names.push_back(name);
  }
  return names;
}

// A topic; checks who listens when that changes.
template <typename Message>
class Publisher {
 public:
  Publisher(ros::NodeHandle& node, const std::string& topic, const Look& look)
      : publisher_(node.advertise<Message>(
            topic, 1, [look](const ros::SingleSubscriberPublisher&) { look(); },
            [look](const ros::SingleSubscriberPublisher&) { look(); })) {}

  bool HasListeners() const { return publisher_.getNumSubscribers() > 0; }

  // A nodelet's neighbours get the message itself.
  void Publish(Message message) {
    publisher_.publish(boost::make_shared<Message>(std::move(message)));
  }

 private:
  ros::Publisher publisher_;
};

struct Ros1 {
  template <typename Message>
  using Publisher = ros1::Publisher<Message>;
  using AnswerInfo = cacheinf_msgs::AnswerInfo;
  using Classification = cacheinf_msgs::Classification;
  using Detections = cacheinf_msgs::Detections;
  using Image = sensor_msgs::Image;
  using Keypoints = cacheinf_msgs::Keypoints;
  using String = std_msgs::String;
};

}  // namespace

// The topics of one camera.
class Node::Camera {
 public:
  Camera(ros::NodeHandle& node, const std::string& name, bool takes_compressed, const Look& look)
      : node_(node),
        prefix_(name.empty() ? "" : name + "/"),
        takes_compressed_(takes_compressed),
        topics_(node, prefix_, look),
        status_(node, prefix_ + "status", [] {}) {}

  NodeWants Wants() const { return topics_.Wants(); }

  // Begins or ends the subscription to images.
  void Listen(bool listens, const std::function<void(const NodeImage& image)>& take) {
    if (listens == (subscriber_ != nullptr)) return;
    subscriber_.shutdown();
    if (!listens) return;
    if (takes_compressed_) {
      Subscribe<sensor_msgs::CompressedImage>("image/compressed", take);
    } else {
      Subscribe<sensor_msgs::Image>("image", take);
    }
  }

  void Publish(const NodeAnswer& answer) { topics_.Publish(answer); }

  void PublishStatus(const NodeStatus& status, std::chrono::nanoseconds now) {
    status_.Publish(StatusOf<cacheinf_msgs::Status>(status, now));
  }

 private:
  template <typename Message>
  void Subscribe(const std::string& topic, std::function<void(const NodeImage& image)> take) {
    const boost::function<void(const boost::shared_ptr<const Message>&)> convert =
        [take = std::move(take)](const boost::shared_ptr<const Message>& message) {
          take(NodeImageOf(*message));
        };
    subscriber_ = node_.subscribe<Message>(prefix_ + topic, 1, convert, ros::VoidConstPtr(),
                                           ros::TransportHints().tcpNoDelay());
  }

  ros::NodeHandle& node_;
  const std::string prefix_;
  const bool takes_compressed_;
  ros::Subscriber subscriber_;
  NodeTopics<Ros1> topics_;
  Publisher<cacheinf_msgs::Status> status_;
};

std::map<std::string, std::string> ParametersOf(const ros::NodeHandle& own) {
  std::map<std::string, std::string> parameters;
  XmlRpcValue all;
  if (own.getParam(own.getNamespace(), all) && all.getType() == XmlRpcValue::TypeStruct) {
    AddParameters("", all, parameters);
  }
  return parameters;
}

NodeSettings TakeOwnParameters(std::map<std::string, std::string>& parameters) {
  NodeSettings settings;
  std::erase_if(parameters, [&settings](const auto& parameter) {
    const auto& [name, text] = parameter;
    if (name == "cameras") {
      settings.cameras = NamesIn(text);
    } else if (name == "always_on") {
      settings.is_always_on = IsTrue(name, text);
    } else if (name == "compressed") {
      settings.takes_compressed = IsTrue(name, text);
    } else {
      return false;
    }
    return true;
  });
  return settings;
}

Node::Node(const ros::NodeHandle& topics, const ros::NodeHandle& own, const NodeSettings& settings,
           const RobotConfig& config, const Clock& clock)
    : topics_(topics), own_(own), settings_(settings) {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> names =
      settings_.cameras.empty() ? std::vector<std::string>{""} : settings_.cameras;
  robot_ = std::make_unique<RobotNode>(config, names, settings_.is_always_on, clock, *this);
  for (const std::string& name : names) {
    cameras_.push_back(std::make_unique<Camera>(topics_, name, settings_.takes_compressed, [this] {
      const std::lock_guard of_callback(mutex_);
      LookWhoListens();
    }));
  }
  diagnostics_ = topics_.advertise<diagnostic_msgs::DiagnosticArray>("/diagnostics", 1);
  Serve();
  LookWhoListens();
}

// Callbacks that are under way end without a robot; those of a handle that is gone never come.
Node::~Node() {
  services_.clear();
  status_timer_.stop();
  std::unique_ptr<RobotNode> robot;
  {
    const std::lock_guard lock(mutex_);
    robot = std::move(robot_);
  }
  robot.reset();
  cameras_.clear();
}

void Node::Serve() {
  const auto serve = [this]<typename Type>(const char* name, auto answer) {
    using Request = typename Type::Request;
    using Response = typename Type::Response;
    const boost::function<bool(Request&, Response&)> call = [this, answer](const Request& request,
                                                                           Response& response) {
      const std::lock_guard lock(mutex_);
      response.message = robot_ ? answer(request) : "the node is ending";
      response.success = response.message.empty();
      return true;
    };
    services_.push_back(own_.advertiseService(name, call));
  };
  serve.operator()<cacheinf_msgs::SetMode>(
      "set_mode", [this](const auto& request) { return SetMode(request.mode); });
  serve.operator()<cacheinf_msgs::Reload>(
      "reload", [this](const auto& request) { return Reload(request.model); });
  serve.operator()<std_srvs::Trigger>("reset", [this](const auto&) {
    robot_->Reset();
    return std::string();
  });
  serve.operator()<std_srvs::SetBool>(
      "set_active", [this](const auto& request) { return SetActive(request.data); });
  status_timer_ =
      topics_.createSteadyTimer(ros::WallDuration(1), [this](const ros::SteadyTimerEvent&) {
        const std::lock_guard lock(mutex_);
        PublishStatus();
      });
}

void Node::LookWhoListens() {
  if (!robot_) return;
  for (size_t i = 0; i < cameras_.size(); ++i) {
    const int camera = static_cast<int>(i);
    const NodeWants wants = cameras_[i]->Wants();
    robot_->Want(camera, wants);
    cameras_[i]->Listen(is_active_ && (settings_.is_always_on || wants.anything()),
                        [this, camera](const NodeImage& image) {
                          const std::lock_guard lock(mutex_);
                          if (robot_) robot_->Offer(camera, image);
                        });
  }
}

std::string Node::SetMode(const std::string& mode) {
  std::string why_not = robot_->Change({{"mode", mode}});
  if (why_not.empty()) own_.setParam("mode", mode);
  return why_not;
}

// The parameters may have changed, too.
std::string Node::Reload(const std::string& model) {
  std::map<std::string, std::string> parameters;
  try {
    parameters = ParametersOf(own_);
    TakeOwnParameters(parameters);
  } catch (const InputError& error) {
    return error.what();
  }
  if (!model.empty()) parameters["model"] = model;
  std::string why_not = robot_->Change({parameters.begin(), parameters.end()});
  if (!why_not.empty()) return why_not;
  if (model.empty()) return robot_->Reload();
  own_.setParam("model", model);
  return "";
}

std::string Node::SetActive(bool is_active) {
  if (is_active == is_active_) return is_active ? "already active" : "not active";
  is_active_ = is_active;
  robot_->SetActive(is_active);
  LookWhoListens();
  return "";
}

void Node::PublishStatus() {
  if (!robot_) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  diagnostic_msgs::DiagnosticArray diagnostics;
  SetTime(now, diagnostics.header.stamp);
  for (size_t i = 0; i < cameras_.size(); ++i) {
    const NodeStatus status = robot_->status(static_cast<int>(i));
    cameras_[i]->PublishStatus(status, now);
    diagnostics.status.push_back(
        DiagnosticOf<diagnostic_msgs::DiagnosticStatus>(status, own_.getNamespace()));
  }
  diagnostics_.publish(diagnostics);
}

void Node::Publish(const NodeAnswer& answer) {
  cameras_[static_cast<size_t>(answer.camera)]->Publish(answer);
}

void Node::Fail(const std::string& why) {
  LogError(why);
  has_failed_ = true;
}

}  // namespace cacheinf::ros1
