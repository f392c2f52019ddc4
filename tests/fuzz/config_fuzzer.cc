// A libFuzzer target: any text is either a configuration or refused with an InputError.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/error.h"
#include "common/config/robot_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    cacheinf::ParseRobotConfig(text, "fuzzed");
  } catch (const cacheinf::InputError&) {
  }
  return 0;
}
