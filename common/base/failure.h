#ifndef CACHEINF_COMMON_BASE_FAILURE_H_
#define CACHEINF_COMMON_BASE_FAILURE_H_

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cacheinf {

// A signal ended the work before it had a result (program.h). The text is one sentence.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What an exception says, in one sentence for people.
inline std::string SentenceOf(const std::exception& error) {
  constexpr const char* kNoMemory = "there is not enough memory";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kNoMemory;
  if (const auto* const of_system = dynamic_cast<const std::system_error*>(&error)) {
    const std::error_code& code = of_system->code();
    if (code == std::errc::not_enough_memory) return kNoMemory;
    if (code == std::errc::resource_unavailable_try_again) {
      return "no further thread or process can be had: raise their limit (ulimit -u)";
    }
    if (code == std::errc::too_many_files_open ||
        code == std::errc::too_many_files_open_in_system) {
      return "no further file can be opened: raise the limit of files (ulimit -n)";
    }
  }
  return error.what();
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FAILURE_H_
