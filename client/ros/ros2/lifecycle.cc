#include "client/ros/ros2/lifecycle.h"

#include <lifecycle_msgs/msg/transition_event.h>

#include <lifecycle_msgs/msg/state.hpp>
#include <lifecycle_msgs/msg/transition.hpp>
#include <lifecycle_msgs/srv/change_state.hpp>
#include <lifecycle_msgs/srv/get_available_states.hpp>
#include <lifecycle_msgs/srv/get_available_transitions.hpp>
#include <lifecycle_msgs/srv/get_state.hpp>
#include <utility>

namespace cacheinf::ros2 {
namespace {

namespace lifecycle_srv = lifecycle_msgs::srv;
using lifecycle_msgs::msg::State;
using lifecycle_msgs::msg::Transition;

State StateOf(const rcl_lifecycle_state_t& state) {
  State message;
  message.id = state.id;
  message.label = state.label;
  return message;
}

lifecycle_msgs::msg::TransitionDescription DescriptionOf(const rcl_lifecycle_transition_t& of) {
  lifecycle_msgs::msg::TransitionDescription message;
  message.transition.id = static_cast<uint8_t>(of.id);
  message.transition.label = of.label;
  message.start_state = StateOf(*of.start);
  message.goal_state = StateOf(*of.goal);
  return message;
}

// A node can be shut down from three states, by a transition of its own each.
uint8_t IdOf(const Transition& transition, const rcl_lifecycle_state_t& state) {
  uint8_t id = transition.id;
  if (!transition.label.empty() && id == 0) {
    const auto* const known =
        rcl_lifecycle_get_transition_by_label(&state, transition.label.c_str());
    if (known != nullptr) id = static_cast<uint8_t>(known->id);
  }
  return id;
}

template <typename Type>
const rosidl_service_type_support_t* TypeOf() {
  return rosidl_typesupport_cpp::get_service_type_support_handle<Type>();
}

}  // namespace

Lifecycle::Lifecycle(RclNode& node, Do transition) : node_(node), do_(std::move(transition)) {
  const rcl_lifecycle_state_machine_options_t options =
      rcl_lifecycle_get_default_state_machine_options();
  Require(rcl_lifecycle_state_machine_init(
      &machine_, &node.handle(), ROSIDL_GET_MSG_TYPE_SUPPORT(lifecycle_msgs, msg, TransitionEvent),
      TypeOf<lifecycle_srv::ChangeState>(), TypeOf<lifecycle_srv::GetState>(),
      TypeOf<lifecycle_srv::GetAvailableStates>(), TypeOf<lifecycle_srv::GetAvailableTransitions>(),
      TypeOf<lifecycle_srv::GetAvailableTransitions>(), &options));
  rcl_lifecycle_com_interface_t& door = machine_.com_interface;
  const auto serve = [this]<typename Type>(rcl_service_t& service, auto answer) {
    services_.push_back(std::make_unique<Service<Type>>(node_, service, answer));
  };
  serve.operator()<lifecycle_srv::ChangeState>(
      door.srv_change_state, [this](const auto& request, auto& to) {
        to.success = Change(IdOf(request.transition, *machine_.current_state));
      });
  serve.operator()<lifecycle_srv::GetState>(
      door.srv_get_state, [this](const auto&, auto& response) {
        response.current_state = StateOf(*machine_.current_state);
      });
  serve.operator()<lifecycle_srv::GetAvailableStates>(
      door.srv_get_available_states, [this](const auto&, auto& response) {
        const rcl_lifecycle_transition_map_t& map = machine_.transition_map;
        for (unsigned i = 0; i < map.states_size; ++i) {
          response.available_states.push_back(StateOf(map.states[i]));
        }
      });
  serve.operator()<lifecycle_srv::GetAvailableTransitions>(
      door.srv_get_available_transitions, [this](const auto&, auto& response) {
        const rcl_lifecycle_state_t& state = *machine_.current_state;
        for (unsigned i = 0; i < state.valid_transition_size; ++i) {
          response.available_transitions.push_back(DescriptionOf(state.valid_transitions[i]));
        }
      });
  serve.operator()<lifecycle_srv::GetAvailableTransitions>(
      door.srv_get_transition_graph, [this](const auto&, auto& response) {
        const rcl_lifecycle_transition_map_t& map = machine_.transition_map;
        for (unsigned i = 0; i < map.transitions_size; ++i) {
          response.available_transitions.push_back(DescriptionOf(map.transitions[i]));
        }
      });
}

Lifecycle::~Lifecycle() {
  services_.clear();
  (void)!rcl_lifecycle_state_machine_fini(&machine_, &node_.handle());
}

bool Lifecycle::Change(uint8_t transition) {
  if (rcl_lifecycle_trigger_transition_by_id(&machine_, transition, true) != RCL_RET_OK) {
    rcl_reset_error();
    return false;
  }
  const bool is_done = do_(transition);
  const char* const result =
      is_done ? rcl_lifecycle_transition_success_label : rcl_lifecycle_transition_failure_label;
  Require(rcl_lifecycle_trigger_transition_by_label(&machine_, result, true));
  return is_done;
}

bool Lifecycle::is_finalized() const {
  return machine_.current_state->id == State::PRIMARY_STATE_FINALIZED;
}

std::vector<Waitable*> Lifecycle::waitables() const {
  std::vector<Waitable*> all;
  for (const auto& service : services_) all.push_back(service.get());
  return all;
}

}  // namespace cacheinf::ros2
