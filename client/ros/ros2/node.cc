#include "client/ros/ros2/node.h"

#include <fmt/core.h>
#include <rmw/validate_full_topic_name.h>

#include <algorithm>
#include <cacheinf_msgs/msg/answer_info.hpp>
#include <cacheinf_msgs/msg/classification.hpp>
#include <cacheinf_msgs/msg/detections.hpp>
#include <cacheinf_msgs/msg/keypoints.hpp>
#include <cacheinf_msgs/msg/status.hpp>
#include <cacheinf_msgs/srv/reload.hpp>
#include <cacheinf_msgs/srv/set_mode.hpp>
#include <exception>
#include <functional>
#include <iterator>
#include <lifecycle_msgs/msg/transition.hpp>
#include <optional>
#include <sensor_msgs/msg/compressed_image.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <set>
#include <std_msgs/msg/string.hpp>
#include <std_srvs/srv/set_bool.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <thread>
#include <utility>
#include <variant>

#include "client/ros/node_messages.h"
#include "client/ros/node_topics.h"
#ifdef CACHEINF_HAS_VISION_MSGS
#include "client/ros/ros2/detections_2d.h"
#endif
#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf::ros2 {
namespace {

using lifecycle_msgs::msg::Transition;
using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 50ms;  // at listeners, and at the time
constexpr auto kBetweenStatus = 1s;
constexpr auto kForTheLastReply = 200ms;
constexpr const char* kUseSimTime = "use_sim_time";
constexpr const char* kNotConfigured = "the node is not configured";

rmw_qos_profile_t Quality(bool is_reliable) {
  rmw_qos_profile_t quality = rmw_qos_profile_sensor_data;
  quality.reliability =
      is_reliable ? RMW_QOS_POLICY_RELIABILITY_RELIABLE : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  return quality;
}

// The parameters that are the node's own. None can change while it runs.
std::vector<Parameter> OwnParameters(const NodeSettings& settings) {
  return {
      {"cameras", settings.cameras,
       "Names of cameras, which are the prefixes of their topics; none: one camera without a "
       "prefix."},
      {"always_on", settings.is_always_on, "Computes though nobody listens."},
      {"compressed", settings.takes_compressed,
       "Takes images from image/compressed in place of image."},
      {"image_qos", std::string(settings.is_image_reliable ? "reliable" : "sensor_data"),
       "Quality of service of the subscription.", "one of sensor_data, reliable"},
      {"result_qos", std::string(settings.is_result_reliable ? "reliable" : "sensor_data"),
       "Quality of service of what is published.", "one of sensor_data, reliable"},
      {"autostart", settings.starts_by_itself,
       "Configures and activates itself; false: waits for its lifecycle services."},
  };
}

template <typename T>
T Get(const std::string& name, const ParameterValue& value, const char* what) {
  if (const T* const held = std::get_if<T>(&value)) return *held;
  throw InputError(fmt::format("parameter {} must be {}", name, what));
}

// Throws InputError if they cannot be prefixes of topics, or do not tell cameras apart.
void CheckNames(const std::vector<std::string>& cameras) {
  std::set<std::string> known;
  for (const std::string& name : cameras) {
    int result = RMW_TOPIC_VALID;
    Require(rmw_validate_full_topic_name(("/" + name).c_str(), &result, nullptr));
    if (result != RMW_TOPIC_VALID) {
      throw InputError(fmt::format("parameter cameras: \"{}\" cannot be a camera's name", name));
    }
    if (!known.insert(name).second) {
      throw InputError(fmt::format("parameter cameras names {} twice", name));
    }
  }
}

bool IsReliable(const std::string& name, const ParameterValue& value) {
  constexpr const char* kWhat = "sensor_data or reliable";
  const auto word = Get<std::string>(name, value, kWhat);
  if (word != "sensor_data" && word != "reliable") {
    throw InputError(fmt::format("parameter {} must be {}, not \"{}\"", name, kWhat, word));
  }
  return word == "reliable";
}

// Returns whether the parameter is one of the node's own.
bool SetOwn(const std::string& name, const ParameterValue& value, NodeSettings& settings) {
  constexpr const char* kYesOrNo = "true or false";
  if (name == "cameras") {
    // An empty list has no type of its own on a command line.
    settings.cameras = value.index() == 0
                           ? std::vector<std::string>()
                           : Get<std::vector<std::string>>(name, value, "a list of names");
    CheckNames(settings.cameras);
  } else if (name == "always_on") {
    settings.is_always_on = Get<bool>(name, value, kYesOrNo);
  } else if (name == "compressed") {
    settings.takes_compressed = Get<bool>(name, value, kYesOrNo);
  } else if (name == "image_qos") {
    settings.is_image_reliable = IsReliable(name, value);
  } else if (name == "result_qos") {
    settings.is_result_reliable = IsReliable(name, value);
  } else if (name == kUseSimTime) {
    settings.uses_sim_time = Get<bool>(name, value, kYesOrNo);
  } else if (name == "autostart") {
    settings.starts_by_itself = Get<bool>(name, value, kYesOrNo);
  } else {
    return false;
  }
  return true;
}

struct Ros2 {
  template <typename Message>
  using Publisher = ros2::Publisher<Message>;
  using AnswerInfo = cacheinf_msgs::msg::AnswerInfo;
  using Classification = cacheinf_msgs::msg::Classification;
  using Detections = cacheinf_msgs::msg::Detections;
  using Image = sensor_msgs::msg::Image;
  using Keypoints = cacheinf_msgs::msg::Keypoints;
  using String = std_msgs::msg::String;
};

}  // namespace

// The topics of one camera.
class Node::Camera {
 public:
  Camera(RclNode& ros, const std::string& name, const NodeSettings& settings)
      : ros_(ros),
        settings_(settings),
        prefix_(name.empty() ? "" : name + "/"),
        topics_(ros, prefix_, Quality(settings.is_result_reliable)),
        status_(ros, prefix_ + "status", rmw_qos_profile_default) {}

  NodeWants Wants() const {
    NodeWants wants = topics_.Wants();
#ifdef CACHEINF_HAS_VISION_MSGS
    wants.answers = wants.answers || detections_2d_.HasListeners();
#endif
    return wants;
  }

  // Begins or ends the subscription to images.
  void Listen(bool listens, const std::function<void(const NodeImage& image)>& take) {
    if (listens == (subscription_ != nullptr)) return;
    subscription_.reset();
    if (!listens) return;
    if (settings_.takes_compressed) {
      Subscribe<sensor_msgs::msg::CompressedImage>(take);
    } else {
      Subscribe<sensor_msgs::msg::Image>(take);
    }
  }

  // Notes in the status a peer with a quality of service that does not fit, and logs it when it is
  // new.
  void NoteMisfit(NodeStatus& status) {
    const auto add = [&status](const std::string& misfit, const char* parameter) {
      if (misfit.empty() || !status.misfit.empty()) return;
      status.misfit = fmt::format("{}: see parameter {}", misfit, parameter);
    };
    if (subscription_) {
      add(ros_.MisfitAmong(RclNode::Side::kPublishers, ImageTopic(),
                           Quality(settings_.is_image_reliable)),
          "image_qos");
    }
    add(topics_.Misfit(), "result_qos");
#ifdef CACHEINF_HAS_VISION_MSGS
    add(detections_2d_.Misfit(), "result_qos");
#endif
    if (std::exchange(misfit_, status.misfit) != status.misfit && !status.misfit.empty()) {
      LogWarning(status.misfit);
    }
  }

  Waitable* subscription() const { return subscription_.get(); }

  void Publish(const NodeAnswer& answer) {
    topics_.Publish(answer);
#ifdef CACHEINF_HAS_VISION_MSGS
    if (std::holds_alternative<Detections>(answer.answer->content)) {
      detections_2d_.Publish(Detections2DOf(answer));
    }
#endif
  }

  void PublishStatus(const NodeStatus& status, std::chrono::nanoseconds now) {
    status_.Publish(StatusOf<cacheinf_msgs::msg::Status>(status, now));
  }

 private:
  template <typename Message>
  void Subscribe(std::function<void(const NodeImage& image)> take) {
    subscription_ = std::make_unique<Subscription<Message>>(
        ros_, ImageTopic(), Quality(settings_.is_image_reliable),
        [take = std::move(take)](const Message& message) { take(NodeImageOf(message)); });
  }

  std::string ImageTopic() const {
    return prefix_ + (settings_.takes_compressed ? "image/compressed" : "image");
  }

  RclNode& ros_;
  const NodeSettings& settings_;
  const std::string prefix_;
  std::unique_ptr<Waitable> subscription_;
  NodeTopics<Ros2> topics_;
#ifdef CACHEINF_HAS_VISION_MSGS
  Publisher<vision_msgs::msg::Detection2DArray> detections_2d_{
      ros_, prefix_ + "detections_2d", Quality(settings_.is_result_reliable)};
#endif
  Publisher<cacheinf_msgs::msg::Status> status_;
  std::string misfit_;
};

NodeSettings TakeOwnParameters(std::map<std::string, ParameterValue>& given) {
  NodeSettings settings;
  std::erase_if(given, [&settings](const auto& parameter) {
    return SetOwn(parameter.first, parameter.second, settings);
  });
  return settings;
}

Node::Node(RclNode& ros, const NodeSettings& settings, RobotConfig config, const Clock& clock)
    : ros_(ros),
      config_(std::move(config)),
      settings_(settings),
      clock_(clock),
      diagnostics_(ros, "/diagnostics", rmw_qos_profile_default) {
  Serve();
  if (!settings_.starts_by_itself) return;
  // A node that starts by itself is of no use without a model: what is wrong ends it.
  if (lifecycle_->Change(Transition::TRANSITION_CONFIGURE)) {
    lifecycle_->Change(Transition::TRANSITION_ACTIVATE);
  } else {
    has_failed_ = true;
  }
}

Node::~Node() { CleanUp(); }

void Node::Serve() {
  parameters_ = std::make_unique<ParameterServer>(
      ros_, [this] { return Parameters(); },
      [this](const NamedValues& values) { return ChangeParameters(values); });
  lifecycle_ = std::make_unique<Lifecycle>(
      ros_, [this](uint8_t transition) { return TakeTransition(transition); });
  const auto serve = [this]<typename Type>(const char* name, auto answer) {
    services_.push_back(std::make_unique<Service<Type>>(ros_, std::string("~/") + name, answer));
  };
  const auto change = [this](const NamedValues& values, auto& response) {
    response.message = ChangeParameters(values);
    response.success = response.message.empty();
  };
  serve.operator()<cacheinf_msgs::srv::SetMode>("set_mode",
                                                [change](const auto& request, auto& response) {
                                                  change({{"mode", request.mode}}, response);
                                                });
  serve.operator()<cacheinf_msgs::srv::Reload>(
      "reload", [this, change](const auto& request, auto& response) {
        if (robot_ && !request.model.empty()) return change({{"model", request.model}}, response);
        response.message = robot_ ? robot_->Reload() : kNotConfigured;
        response.success = response.message.empty();
      });
  serve.operator()<std_srvs::srv::Trigger>("reset", [this](const auto&, auto& response) {
    if (robot_) robot_->Reset();
    response.success = robot_ != nullptr;
    if (!robot_) response.message = kNotConfigured;
  });
  serve.operator()<std_srvs::srv::SetBool>(
      "set_active", [this](const auto& request, auto& response) {
        response.success = lifecycle_->Change(request.data ? Transition::TRANSITION_ACTIVATE
                                                           : Transition::TRANSITION_DEACTIVATE);
        if (!robot_) {
          response.message = kNotConfigured;
        } else if (!response.success) {
          response.message = request.data ? "already active" : "not active";
        }
      });
}

std::vector<Parameter> Node::Parameters() const {
  std::vector<Parameter> all = OwnParameters(settings_);
  for (Parameter& own : all) own.is_read_only = true;
  all.push_back({kUseSimTime, settings_.uses_sim_time,
                 "Changes nothing: stamps pass through, and deadlines count real time."});
  const RobotConfig config = robot_ ? robot_->config() : config_;
  for (Parameter& key : ParametersOf(config, &RobotNode::Takes)) all.push_back(std::move(key));
  return all;
}

std::string Node::ChangeParameters(const NamedValues& values) {
  std::vector<std::pair<std::string, std::string>> keys;
  NodeSettings settings = settings_;
  RobotConfig changed = config_;
  try {
    for (const auto& [name, value] : values) {
      if (!SetOwn(name, value, settings)) keys.emplace_back(name, TextOf(name, value));
    }
    if (!robot_) {
      for (const auto& [name, text] : keys) SetField(name, text, "parameter", changed.Fields());
      changed.Check("parameters");
    }
  } catch (const InputError& error) {
    return WithKeys(error.what(), changed.Fields());
  }
  std::string why_not = robot_ && !keys.empty() ? robot_->Change(keys) : "";
  if (!why_not.empty()) return why_not;
  settings_ = settings;
  config_ = changed;
  return "";
}

bool Node::TakeTransition(uint8_t transition) {
  switch (transition) {
    case Transition::TRANSITION_CONFIGURE:
      return Configure();
    case Transition::TRANSITION_ACTIVATE:
    case Transition::TRANSITION_DEACTIVATE:
      is_active_ = transition == Transition::TRANSITION_ACTIVATE;
      robot_->SetActive(is_active_);
      return true;
    default:  // cleans up, or shuts down
      CleanUp();
      return true;
  }
}

bool Node::Configure() {
  try {
    const std::vector<std::string> names =
        settings_.cameras.empty() ? std::vector<std::string>{""} : settings_.cameras;
    robot_ = std::make_unique<RobotNode>(config_, names, settings_.is_always_on, clock_, *this);
    robot_->SetActive(false);
    for (const std::string& name : names) {
      cameras_.push_back(std::make_unique<Camera>(ros_, name, settings_));
    }
  } catch (const InputError& error) {
    LogError(error.what());
    CleanUp();
    return false;
  }
  return true;
}

void Node::CleanUp() {
  is_active_ = false;
  if (robot_) config_ = robot_->config();
  robot_.reset();
  std::ranges::move(cameras_, std::back_inserter(retired_));
  cameras_.clear();
}

bool Node::Spin(const std::atomic<bool>& stop) {
  while (!stop && !has_failed_ && !lifecycle_->is_finalized()) {
    retired_.clear();
    std::vector<Waitable*> waitables = parameters_->waitables();
    for (Waitable* const of_lifecycle : lifecycle_->waitables()) waitables.push_back(of_lifecycle);
    for (const auto& service : services_) waitables.push_back(service.get());
    for (size_t i = 0; i < cameras_.size(); ++i) {
      const int camera = static_cast<int>(i);
      const NodeWants wants = cameras_[i]->Wants();
      robot_->Want(camera, wants);
      cameras_[i]->Listen(is_active_ && (settings_.is_always_on || wants.anything()),
                          [this, camera](const NodeImage& image) {
                            // A message from the same wait may have ended the robot.
                            if (robot_) robot_->Offer(camera, image);
                          });
      if (cameras_[i]->subscription() != nullptr) waitables.push_back(cameras_[i]->subscription());
    }
    ros_.Wait(kBetweenLooks, waitables);
    if (clock_.Now() >= next_status_) PublishStatus();
  }
  // The middleware drops a reply that is still on its way when the node ends.
  if (lifecycle_->is_finalized()) std::this_thread::sleep_for(kForTheLastReply);
  return !has_failed_;
}

void Node::PublishStatus() {
  next_status_ = clock_.Now() + kBetweenStatus;
  const bool has_namesake = ros_.CountNamesakes() > 1;
  if (!std::exchange(has_namesake_, has_namesake) && has_namesake) {
    LogWarning(
        fmt::format("there is another node {}: give this one a name of its own by --ros-args "
                    "-r __node:=NAME, or end the other",
                    ros_.full_name()));
  }
  if (!robot_) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  diagnostic_msgs::msg::DiagnosticArray diagnostics;
  SetTime(now, diagnostics.header.stamp);
  for (size_t i = 0; i < cameras_.size(); ++i) {
    NodeStatus status = robot_->status(static_cast<int>(i));
    cameras_[i]->NoteMisfit(status);
    cameras_[i]->PublishStatus(status, now);
    diagnostics.status.push_back(
        DiagnosticOf<diagnostic_msgs::msg::DiagnosticStatus>(status, ros_.full_name()));
  }
  diagnostics_.Publish(diagnostics);
}

void Node::Publish(const NodeAnswer& answer) {
  try {
    cameras_[static_cast<size_t>(answer.camera)]->Publish(answer);
  } catch (const RosError& error) {
    LogWarning(fmt::format("an answer is not published: {}", error.what()));
  }
}

void Node::Fail(const std::string& why) {
  LogError(why);
  has_failed_ = true;
}

}  // namespace cacheinf::ros2
