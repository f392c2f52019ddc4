#include "client/ros/ros2/rcl_node.h"

#include <fmt/core.h>
#include <rcl/arguments.h>
#include <rcl/graph.h>
#include <rcl_yaml_param_parser/parser.h>
#include <rcutils/error_handling.h>
#include <rmw/qos_profiles.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace cacheinf::ros2 {
namespace {

ParameterValue ValueOf(const rcl_variant_t& value) {
  if (value.bool_value != nullptr) return *value.bool_value;
  if (value.integer_value != nullptr) return *value.integer_value;
  if (value.double_value != nullptr) return *value.double_value;
  if (value.string_value != nullptr) return std::string(value.string_value);
  if (const auto* list = value.integer_array_value) {
    return std::vector(list->values, list->values + list->size);
  }
  if (const auto* list = value.double_array_value) {
    return std::vector(list->values, list->values + list->size);
  }
  if (const auto* list = value.string_array_value) {
    return std::vector<std::string>(list->data, list->data + list->size);
  }
  return {};
}

// Whether a name in a file of parameters, which may hold * and **, means this node.
bool Means(std::string_view pattern, std::string_view node) {
  if (pattern.empty()) return node.empty();
  if (pattern.starts_with("**")) {
    const std::string_view rest = pattern.substr(2);
    for (size_t from = 0; from <= node.size(); ++from) {
      if (Means(rest, node.substr(from))) return true;
    }
    return false;
  }
  if (pattern[0] == '*') {
    size_t from = 0;
    do {
      if (Means(pattern.substr(1), node.substr(from))) return true;
    } while (from < node.size() && node[from++] != '/');
    return false;
  }
  return !node.empty() && pattern[0] == node[0] && Means(pattern.substr(1), node.substr(1));
}

std::string FullName(std::string_view space, std::string_view name) {
  return fmt::format("{}{}{}", space, space.ends_with('/') ? "" : "/", name);
}

}  // namespace

void Require(rcl_ret_t result) {
  if (result == RCL_RET_OK) return;
  std::string text = rcl_get_error_string().str;
  rcl_reset_error();
  // What follows is a place in the sources of ROS.
  const size_t place = std::min(text.find(", at /"), text.find('\n'));
  throw RosError("ROS: " + text.substr(0, place));
}

RclNode::Context::Context(int argc, const char* const* argv) {
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  Require(rcl_init_options_init(&options, rcl_get_default_allocator()));
  const rcl_ret_t result = rcl_init(argc, argv, &options, &context_);
  (void)!rcl_init_options_fini(&options);
  Require(result);
}

RclNode::Context::~Context() {
  (void)!rcl_shutdown(&context_);
  (void)!rcl_context_fini(&context_);
}

RclNode::RclNode(int argc, const char* const* argv, const std::string& name)
    : context_(argc, argv) {
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  const rcl_arguments_t& arguments = context_.arguments();
  int* indices = nullptr;
  if (rcl_arguments_get_count_unparsed_ros(&arguments) > 0) {
    Require(rcl_arguments_get_unparsed_ros(&arguments, allocator, &indices));
    const std::string word = argv[indices[0]];
    allocator.deallocate(indices, allocator.state);
    throw RosError(fmt::format("ROS does not know \"{}\" after --ros-args", word));
  }
  const int others = rcl_arguments_get_count_unparsed(&arguments);
  if (others > 0) Require(rcl_arguments_get_unparsed(&arguments, allocator, &indices));
  for (int i = 0; i < others; ++i) {
    if (indices[i] > 0) other_arguments_.emplace_back(argv[indices[i]]);
  }
  allocator.deallocate(indices, allocator.state);

  const rcl_node_options_t node_options = rcl_node_get_default_options();
  Require(rcl_node_init(&node_, name.c_str(), "", context_.get(), &node_options));
}

RclNode::~RclNode() { (void)!rcl_node_fini(&node_); }

std::map<std::string, ParameterValue> RclNode::GivenParameters() const {
  std::map<std::string, ParameterValue> given;
  rcl_params_t* all = nullptr;
  Require(rcl_arguments_get_param_overrides(&context_.arguments(), &all));
  if (all == nullptr) return given;
  const std::string name = full_name();
  for (size_t i = 0; i < all->num_nodes; ++i) {
    std::string pattern = all->node_names[i];
    if (!pattern.starts_with("/") && !pattern.starts_with("*")) pattern.insert(0, "/");
    if (!Means(pattern, name)) continue;
    const rcl_node_params_t& of_node = all->params[i];
    for (size_t j = 0; j < of_node.num_params; ++j) {
      given[of_node.parameter_names[j]] = ValueOf(of_node.parameter_values[j]);
    }
  }
  rcl_yaml_node_struct_fini(all);
  return given;
}

int64_t RclNode::CountNamesakes() {
  rcutils_string_array_t names = rcutils_get_zero_initialized_string_array();
  rcutils_string_array_t spaces = rcutils_get_zero_initialized_string_array();
  Require(rcl_get_node_names(&node_, rcl_get_default_allocator(), &names, &spaces));
  int64_t count = 0;
  for (size_t i = 0; i < names.size; ++i) {
    count += FullName(spaces.data[i], names.data[i]) == full_name();
  }
  (void)!rcutils_string_array_fini(&names);
  (void)!rcutils_string_array_fini(&spaces);
  return count;
}

std::string RclNode::MisfitAmong(Side side, const std::string& topic,
                                 const rmw_qos_profile_t& own) {
  rcl_allocator_t allocator = rcl_get_default_allocator();
  char* resolved = nullptr;
  Require(rcl_node_resolve_name(&node_, topic.c_str(), allocator, /*is_service=*/false,
                                /*only_expand=*/false, &resolved));
  const bool publishes = side == Side::kSubscribers;
  const auto list =
      publishes ? &rcl_get_subscriptions_info_by_topic : &rcl_get_publishers_info_by_topic;
  rcl_topic_endpoint_info_array_t others = rcl_get_zero_initialized_topic_endpoint_info_array();
  const rcl_ret_t result = list(&node_, &allocator, resolved, /*no_mangle=*/false, &others);
  const std::string full_topic = resolved;
  allocator.deallocate(resolved, allocator.state);
  Require(result);
  std::string misfit;
  for (size_t i = 0; i < others.size && misfit.empty(); ++i) {
    const rmw_topic_endpoint_info_t& other = others.info_array[i];
    rmw_qos_compatibility_type_t fit = RMW_QOS_COMPATIBILITY_OK;
    std::array<char, 512> why{};
    const rmw_ret_t is_known = rmw_qos_profile_check_compatible(publishes ? own : other.qos_profile,
                                                                publishes ? other.qos_profile : own,
                                                                &fit, why.data(), why.size());
    if (is_known != RMW_RET_OK || fit != RMW_QOS_COMPATIBILITY_ERROR) continue;
    std::string_view reason = why.data();  // "ERROR: Best effort publisher and …;"
    if (reason.starts_with("ERROR: ")) reason.remove_prefix(7);
    while (reason.ends_with(';')) reason.remove_suffix(1);
    misfit = fmt::format("{}: the quality of service of {} does not fit ({})", full_topic,
                         FullName(other.node_namespace, other.node_name), reason);
  }
  (void)!rcl_topic_endpoint_info_array_fini(&others, &allocator);
  return misfit;
}

void RclNode::Wait(std::chrono::nanoseconds longest, const std::vector<Waitable*>& waitables) {
  rcl_wait_set_t wait_set = rcl_get_zero_initialized_wait_set();
  // Any of them may be a subscription or a service.
  const size_t most = waitables.size();
  Require(rcl_wait_set_init(&wait_set, most, 0, 0, 0, most, 0, context_.get(),
                            rcl_get_default_allocator()));
  const auto fini = [](rcl_wait_set_t* set) { (void)!rcl_wait_set_fini(set); };
  const std::unique_ptr<rcl_wait_set_t, decltype(fini)> owner(&wait_set, fini);
  for (Waitable* const waitable : waitables) waitable->AddTo(wait_set);
  const rcl_ret_t result = rcl_wait(&wait_set, longest.count());
  if (result == RCL_RET_TIMEOUT) return rcl_reset_error();
  Require(result);
  for (Waitable* const waitable : waitables) waitable->HandleIfReady(wait_set);
}

}  // namespace cacheinf::ros2
