#ifndef CACHEINF_COMMON_BASE_FAILURE_H_
#define CACHEINF_COMMON_BASE_FAILURE_H_

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace cacheinf {

// A signal ended the work before it had a result (program.h). The text is one sentence.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What an exception says, in one sentence for people.
inline std::string SentenceOf(const std::exception& error) {
  const bool lacks_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return lacks_memory ? "there is not enough memory" : error.what();
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FAILURE_H_
