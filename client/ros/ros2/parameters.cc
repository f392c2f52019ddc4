#include "client/ros/ros2/parameters.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <rcl_interfaces/msg/parameter_type.hpp>
#include <rcl_interfaces/srv/describe_parameters.hpp>
#include <rcl_interfaces/srv/get_parameter_types.hpp>
#include <rcl_interfaces/srv/get_parameters.hpp>
#include <rcl_interfaces/srv/list_parameters.hpp>
#include <rcl_interfaces/srv/set_parameters.hpp>
#include <rcl_interfaces/srv/set_parameters_atomically.hpp>
#include <set>
#include <type_traits>
#include <variant>

#include "client/ros/node_options.h"
#include "common/config/fields.h"

namespace cacheinf::ros2 {
namespace {

namespace parameter_msg = rcl_interfaces::msg;
namespace parameter_srv = rcl_interfaces::srv;

template <typename T>
concept NumberField = std::is_same_v<T, int*> || std::is_same_v<T, int64_t*>;

ParameterValue ValueOf(const Field::Target& target) {
  return std::visit(
      [](const auto& field) -> ParameterValue {
        using T = std::decay_t<decltype(field)>;
        if constexpr (NumberField<T>) {
          return static_cast<int64_t>(*field);
        } else if constexpr (std::is_same_v<T, Choice>) {
          return field.words[field.get()];
        } else if constexpr (std::is_same_v<T, std::vector<int>*>) {
          return std::vector<int64_t>(field->begin(), field->end());
        } else if constexpr (std::is_same_v<T, TextsOrFile>) {
          if (!field.file->empty()) return *field.file;
          return *field.texts;
        } else if constexpr (std::is_same_v<T, FieldTable>) {
          return {};  // ForEachField visits none
        } else {
          return *field;
        }
      },
      target);
}

std::string ConstraintsOf(const Field& field) {
  if (const auto* choice = std::get_if<Choice>(&field.target)) {
    std::vector<std::string> words;
    for (const std::string& word : choice->words) {
      if (std::ranges::find(field.unlisted, word) == field.unlisted.end()) words.push_back(word);
    }
    return fmt::format("one of {}", fmt::join(words, ", "));
  }
  const bool has_least = std::isfinite(field.minimum);
  const bool has_most = std::isfinite(field.maximum);
  if (has_least && has_most) return fmt::format("{} to {}", field.minimum, field.maximum);
  if (has_least) return fmt::format("at least {}", field.minimum);
  return has_most ? fmt::format("at most {}", field.maximum) : "";
}

uint8_t TypeOf(const ParameterValue& value) {
  using Type = parameter_msg::ParameterType;
  constexpr uint8_t kTypes[] = {Type::PARAMETER_NOT_SET,      Type::PARAMETER_BOOL,
                                Type::PARAMETER_INTEGER,      Type::PARAMETER_DOUBLE,
                                Type::PARAMETER_STRING,       Type::PARAMETER_INTEGER_ARRAY,
                                Type::PARAMETER_DOUBLE_ARRAY, Type::PARAMETER_STRING_ARRAY};
  return kTypes[value.index()];
}

parameter_msg::ParameterValue MessageOf(const ParameterValue& value) {
  parameter_msg::ParameterValue message;
  message.type = TypeOf(value);
  std::visit(
      [&message](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) message.bool_value = held;
        if constexpr (std::is_same_v<T, int64_t>) message.integer_value = held;
        if constexpr (std::is_same_v<T, double>) message.double_value = held;
        if constexpr (std::is_same_v<T, std::string>) message.string_value = held;
        if constexpr (std::is_same_v<T, std::vector<int64_t>>) message.integer_array_value = held;
        if constexpr (std::is_same_v<T, std::vector<double>>) message.double_array_value = held;
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          message.string_array_value = held;
        }
      },
      value);
  return message;
}

// Returns nothing for a list of bytes or booleans.
ParameterValue ValueOf(const parameter_msg::ParameterValue& message) {
  using Type = parameter_msg::ParameterType;
  switch (message.type) {
    case Type::PARAMETER_BOOL:
      return message.bool_value;
    case Type::PARAMETER_INTEGER:
      return message.integer_value;
    case Type::PARAMETER_DOUBLE:
      return message.double_value;
    case Type::PARAMETER_STRING:
      return message.string_value;
    case Type::PARAMETER_INTEGER_ARRAY:
      return message.integer_array_value;
    case Type::PARAMETER_DOUBLE_ARRAY:
      return message.double_array_value;
    case Type::PARAMETER_STRING_ARRAY:
      return message.string_array_value;
    default:
      return {};
  }
}

NamedValues ValuesOf(const std::vector<parameter_msg::Parameter>& parameters) {
  NamedValues values;
  for (const parameter_msg::Parameter& parameter : parameters) {
    values.emplace_back(parameter.name, ValueOf(parameter.value));
  }
  return values;
}

const Parameter* Find(const std::vector<Parameter>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Parameter::name);
  return found == all.end() ? nullptr : &*found;
}

// Whether a name lies under one of the prefixes, at most so many levels below it; 0: any.
bool IsListed(const std::string& name, const std::vector<std::string>& prefixes, uint64_t depth) {
  const auto is_near = [depth](std::string_view rest) {
    return depth == 0 || std::ranges::count(rest, '.') < static_cast<std::ptrdiff_t>(depth);
  };
  if (prefixes.empty()) return is_near(name);
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) {
    return name == prefix || (name.starts_with(prefix + ".") &&
                              is_near(std::string_view(name).substr(prefix.size() + 1)));
  });
}

std::string TextOfNumber(const auto& number) { return fmt::format("{}", number); }
std::string TextOfNumber(const std::string& text) { return text; }

}  // namespace

std::vector<Parameter> ParametersOf(RobotConfig config,
                                    const std::function<bool(const std::string& key)>& is_wanted) {
  std::vector<Parameter> parameters;
  ForEachField(config.Fields(), [&](const std::string& path, const Field& field) {
    if (!is_wanted(path)) return;
    parameters.push_back({path, ValueOf(field.target), field.doc, ConstraintsOf(field)});
  });
  return parameters;
}

std::string TextOf(const std::string& key, const ParameterValue& value) {
  const bool is_list = std::holds_alternative<std::vector<std::string>>(value);
  // An empty list has no type of its own on a command line.
  const bool are_texts =
      is_list || std::holds_alternative<std::string>(value) || value.index() == 0;
  CheckTexts(key, are_texts, is_list);
  return std::visit(
      [](const auto& held) -> std::string {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return TextOfList(held);
        } else if constexpr (requires { typename T::value_type; } &&
                             !std::is_same_v<T, std::string>) {
          std::string text;
          for (const auto& item : held) {
            text += (text.empty() ? "" : ",") + TextOfNumber(item);
          }
          return text;
        } else {
          return TextOfNumber(held);
        }
      },
      value);
}

ParameterServer::ParameterServer(RclNode& node, List list, Change change)
    : node_(node),
      list_(std::move(list)),
      change_(std::move(change)),
      events_(node, "/parameter_events", rmw_qos_profile_parameter_events) {
  const auto serve = [this]<typename Type>(const char* name, auto answer) {
    services_.push_back(std::make_unique<Service<Type>>(
        node_, std::string("~/") + name,
        [this, answer](const typename Type::Request& request, typename Type::Response& response) {
          answer(list_(), request, response);
        }));
  };
  serve.operator()<parameter_srv::GetParameters>(
      "get_parameters", [](const auto& all, const auto& request, auto& response) {
        for (const std::string& name : request.names) {
          const Parameter* const parameter = Find(all, name);
          response.values.push_back(MessageOf(parameter ? parameter->value : ParameterValue()));
        }
      });
  serve.operator()<parameter_srv::GetParameterTypes>(
      "get_parameter_types", [](const auto& all, const auto& request, auto& response) {
        for (const std::string& name : request.names) {
          const Parameter* const parameter = Find(all, name);
          response.types.push_back(TypeOf(parameter ? parameter->value : ParameterValue()));
        }
      });
  serve.operator()<parameter_srv::DescribeParameters>(
      "describe_parameters", [](const auto& all, const auto& request, auto& response) {
        for (const std::string& name : request.names) {
          parameter_msg::ParameterDescriptor descriptor;
          descriptor.name = name;
          if (const Parameter* const parameter = Find(all, name)) {
            descriptor.type = TypeOf(parameter->value);
            descriptor.description = parameter->description;
            descriptor.additional_constraints = parameter->constraints;
            descriptor.read_only = parameter->is_read_only;
            // "100" for a number with a fraction, and a file for a list, are right as well.
            descriptor.dynamic_typing = true;
          }
          response.descriptors.push_back(descriptor);
        }
      });
  serve.operator()<parameter_srv::ListParameters>(
      "list_parameters", [](const auto& all, const auto& request, auto& response) {
        std::set<std::string> prefixes;
        for (const Parameter& parameter : all) {
          if (!IsListed(parameter.name, request.prefixes, request.depth)) continue;
          response.result.names.push_back(parameter.name);
          const size_t dot = parameter.name.rfind('.');
          if (dot != std::string::npos) prefixes.insert(parameter.name.substr(0, dot));
        }
        response.result.prefixes.assign(prefixes.begin(), prefixes.end());
      });
  serve.operator()<parameter_srv::SetParameters>(
      "set_parameters", [this](const auto& /*all*/, const auto& request, auto& response) {
        for (const auto& value : ValuesOf(request.parameters)) {
          parameter_msg::SetParametersResult result;
          result.reason = Set({value});
          result.successful = result.reason.empty();
          response.results.push_back(result);
        }
      });
  serve.operator()<parameter_srv::SetParametersAtomically>(
      "set_parameters_atomically",
      [this](const auto& /*all*/, const auto& request, auto& response) {
        response.result.reason = Set(ValuesOf(request.parameters));
        response.result.successful = response.result.reason.empty();
      });
}

std::vector<Waitable*> ParameterServer::waitables() const {
  std::vector<Waitable*> all;
  for (const auto& service : services_) all.push_back(service.get());
  return all;
}

std::string ParameterServer::Set(const NamedValues& values) {
  const std::vector<Parameter> all = list_();
  for (const auto& [name, value] : values) {
    const Parameter* const parameter = Find(all, name);
    if (parameter == nullptr) return fmt::format("there is no parameter {}", name);
    if (parameter->is_read_only) {
      return fmt::format("{} is read only: set it when the node is started", name);
    }
    if (value.index() == 0) return fmt::format("{} cannot be unset", name);
  }
  std::string why_not = change_(values);
  if (!why_not.empty()) return why_not;
  parameter_msg::ParameterEvent event;
  event.node = node_.full_name();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  event.stamp.sec = static_cast<int32_t>(now / std::chrono::seconds(1));
  event.stamp.nanosec = static_cast<uint32_t>((now % std::chrono::seconds(1)).count());
  for (const Parameter& parameter : list_()) {
    if (std::ranges::find(values, parameter.name, &NamedValues::value_type::first) ==
        values.end()) {
      continue;
    }
    parameter_msg::Parameter changed;
    changed.name = parameter.name;
    changed.value = MessageOf(parameter.value);
    event.changed_parameters.push_back(changed);
  }
  events_.Publish(event);
  return "";
}

}  // namespace cacheinf::ros2
