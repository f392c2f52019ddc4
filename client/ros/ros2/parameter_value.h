#ifndef CACHEINF_CLIENT_ROS_ROS2_PARAMETER_VALUE_H_
#define CACHEINF_CLIENT_ROS_ROS2_PARAMETER_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cacheinf::ros2 {

// What a parameter may be, except lists of bytes and booleans: no key has these types.
using ParameterValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>>;

}  // namespace cacheinf::ros2

#endif  // CACHEINF_CLIENT_ROS_ROS2_PARAMETER_VALUE_H_
