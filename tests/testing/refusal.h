#ifndef CACHEINF_TESTS_TESTING_REFUSAL_H_
#define CACHEINF_TESTS_TESTING_REFUSAL_H_

#include <string>

#include "common/base/error.h"

namespace cacheinf {

// The sentence that bad input is refused with; "" if it is taken.
template <typename Action>
std::string RefusalOf(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_REFUSAL_H_
