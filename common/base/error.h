#ifndef CACHEINF_COMMON_BASE_ERROR_H_
#define CACHEINF_COMMON_BASE_ERROR_H_

#include <stdexcept>

namespace cacheinf {

// Unusable input from the user: a file, a configuration, a command line, a sensor's picture.
// The text is one sentence that names the thing at fault; `main` prints it and exits with code 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_ERROR_H_
