#ifndef CACHEINF_CLIENT_ROS_ROS2_RCL_NODE_H_
#define CACHEINF_CLIENT_ROS_ROS2_RCL_NODE_H_

#include <rcl/error_handling.h>
#include <rcl/rcl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <rosidl_typesupport_cpp/service_type_support.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/ros/ros2/parameter_value.h"
#include "common/base/error.h"

// The part of rcl, the C library under every ROS client, that a node needs, with lifetimes and
// callbacks: rclcpp is not everywhere. Messages are those of C++.

namespace cacheinf::ros2 {

class RosError : public InputError {
 public:
  using InputError::InputError;
};

// Throws RosError unless the call went well.
void Require(rcl_ret_t result);

// Waits for something to come, and handles it.
class Waitable {
 public:
  virtual ~Waitable() = default;
  virtual void AddTo(rcl_wait_set_t& wait_set) = 0;
  // REQUIRES: the wait set that this was added to last, after a wait.
  virtual void HandleIfReady(const rcl_wait_set_t& wait_set) = 0;
};

// A node of ROS 2. One thread owns it; only Publish may come from any.
class RclNode {
 public:
  // Takes what follows --ros-args from the command line. `name` can be overridden there. Throws
  // RosError.
  RclNode(int argc, const char* const* argv, const std::string& name);
  ~RclNode();
  RclNode(const RclNode&) = delete;
  RclNode& operator=(const RclNode&) = delete;

  std::string name() const { return rcl_node_get_name(&node_); }
  std::string full_name() const { return rcl_node_get_fully_qualified_name(&node_); }
  rcl_node_t& handle() { return node_; }

  // Parameters of the command line and its files, for this node.
  std::map<std::string, ParameterValue> GivenParameters() const;

  // The command line's other arguments, without the program.
  const std::vector<std::string>& other_arguments() const { return other_arguments_; }

  // How many nodes known so far have this one's full name, itself among them.
  int64_t CountNamesakes();

  enum class Side : uint8_t { kSubscribers, kPublishers };

  // Names one of a topic's subscribers or publishers, if there is one, that gets nothing from this
  // node or gives it nothing, as its quality of service does not fit `own`, and says why.
  std::string MisfitAmong(Side side, const std::string& topic, const rmw_qos_profile_t& own);

  // Handles what has come, or comes within the time. No waitable may go before this returns.
  void Wait(std::chrono::nanoseconds longest, const std::vector<Waitable*>& waitables);

 private:
  // Its end shuts ROS down, even if the rest of the node cannot be made.
  class Context {
   public:
    Context(int argc, const char* const* argv);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    rcl_context_t* get() { return &context_; }
    const rcl_arguments_t& arguments() const { return context_.global_arguments; }

   private:
    rcl_context_t context_ = rcl_get_zero_initialized_context();
  };

  Context context_;
  rcl_node_t node_ = rcl_get_zero_initialized_node();
  std::vector<std::string> other_arguments_;
};

template <typename Message>
class Publisher {
 public:
  Publisher(RclNode& node, std::string topic, const rmw_qos_profile_t& qos)
      : node_(node), topic_(std::move(topic)), qos_(qos) {
    rcl_publisher_options_t options = rcl_publisher_get_default_options();
    options.qos = qos;
    Require(rcl_publisher_init(&publisher_, &node.handle(),
                               rosidl_typesupport_cpp::get_message_type_support_handle<Message>(),
                               topic_.c_str(), &options));
  }
  ~Publisher() { (void)!rcl_publisher_fini(&publisher_, &node_.handle()); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  std::string Misfit() const {
    return node_.MisfitAmong(RclNode::Side::kSubscribers, topic_, qos_);
  }

  void Publish(const Message& message) { Require(rcl_publish(&publisher_, &message, nullptr)); }

  bool HasListeners() const {
    size_t count = 0;
    Require(rcl_publisher_get_subscription_count(&publisher_, &count));
    return count > 0;
  }

 private:
  RclNode& node_;
  const std::string topic_;
  const rmw_qos_profile_t qos_;
  rcl_publisher_t publisher_ = rcl_get_zero_initialized_publisher();
};

template <typename Message>
class Subscription final : public Waitable {
 public:
  using Take = std::function<void(const Message& message)>;

  Subscription(RclNode& node, const std::string& topic, const rmw_qos_profile_t& qos, Take take)
      : node_(node), take_(std::move(take)) {
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.qos = qos;
    Require(
        rcl_subscription_init(&subscription_, &node.handle(),
                              rosidl_typesupport_cpp::get_message_type_support_handle<Message>(),
                              topic.c_str(), &options));
  }
  ~Subscription() override { (void)!rcl_subscription_fini(&subscription_, &node_.handle()); }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  void AddTo(rcl_wait_set_t& wait_set) override {
    Require(rcl_wait_set_add_subscription(&wait_set, &subscription_, &index_));
  }

  void HandleIfReady(const rcl_wait_set_t& wait_set) override {
    if (wait_set.subscriptions[index_] == nullptr) return;
    const rcl_ret_t result = rcl_take(&subscription_, &message_, nullptr, nullptr);
    if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return rcl_reset_error();
    Require(result);
    take_(message_);
  }

 private:
  RclNode& node_;
  const Take take_;
  rcl_subscription_t subscription_ = rcl_get_zero_initialized_subscription();
  size_t index_ = 0;
  Message message_;  // the last one, whose memory the next one uses
};

// Handles the requests of a service: its own, or one that rcl has made.
template <typename Type>
class Service final : public Waitable {
 public:
  using Request = typename Type::Request;
  using Response = typename Type::Response;
  using Answer = std::function<void(const Request& request, Response& response)>;

  Service(RclNode& node, const std::string& name, Answer answer)
      : node_(node), answer_(std::move(answer)), service_(&own_) {
    const rcl_service_options_t options = rcl_service_get_default_options();
    Require(rcl_service_init(&own_, &node.handle(),
                             rosidl_typesupport_cpp::get_service_type_support_handle<Type>(),
                             name.c_str(), &options));
  }
  // The service must outlive this.
  Service(RclNode& node, rcl_service_t& service, Answer answer)
      : node_(node), answer_(std::move(answer)), service_(&service) {}
  ~Service() override {
    if (service_ == &own_) (void)!rcl_service_fini(&own_, &node_.handle());
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void AddTo(rcl_wait_set_t& wait_set) override {
    Require(rcl_wait_set_add_service(&wait_set, service_, &index_));
  }

  void HandleIfReady(const rcl_wait_set_t& wait_set) override {
    if (wait_set.services[index_] == nullptr) return;
    rmw_request_id_t id{};
    Request request;
    const rcl_ret_t result = rcl_take_request(service_, &id, &request);
    if (result == RCL_RET_SERVICE_TAKE_FAILED) return rcl_reset_error();
    Require(result);
    Response response;
    answer_(request, response);
    // It is no error of the node if the client has left meanwhile.
    if (rcl_send_response(service_, &id, &response) != RCL_RET_OK) rcl_reset_error();
  }

 private:
  RclNode& node_;
  const Answer answer_;
  rcl_service_t own_ = rcl_get_zero_initialized_service();
  rcl_service_t* const service_;
  size_t index_ = 0;
};

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_RCL_NODE_H_
