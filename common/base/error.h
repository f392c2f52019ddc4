#ifndef CACHEINF_COMMON_BASE_ERROR_H_
#define CACHEINF_COMMON_BASE_ERROR_H_

#include <stdexcept>
#include <string>
#include <type_traits>

namespace cacheinf {

// Texts and numbers as one text.
template <typename... Parts>
std::string Joined(const Parts&... parts) {
  const auto text_of = []<typename Part>(const Part& part) {
    if constexpr (std::is_arithmetic_v<Part> && !std::is_same_v<Part, char>) {
      return std::to_string(part);
    } else {
      return std::string(part);
    }
  };
  return (text_of(parts) + ...);
}

// Unusable input from the user: a file, a configuration, a command line, a sensor's picture.
// The text is one sentence that names the thing at fault; `main` prints it and exits with code 2.
class InputError : public std::runtime_error {
 public:
  template <typename... Parts>
  explicit InputError(const Parts&... parts) : std::runtime_error(Joined(parts...)) {}
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_ERROR_H_
