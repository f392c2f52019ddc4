#include "common/config/source_name.h"

#include <algorithm>
#include <cstddef>

namespace cacheinf {

bool IsCamera(const std::string& source) {
  constexpr size_t kMostDigits = 4;
  return !source.empty() && source.size() <= kMostDigits &&
         std::ranges::all_of(source, [](char c) { return c >= '0' && c <= '9'; });
}

bool IsFileOrFolder(const std::string& source) {
  const bool is_generated = source == "generated" || source.starts_with("generated:");
  const bool is_pipeline =
      source.find('!') != std::string::npos && source.find("appsink") != std::string::npos;
  return !source.empty() && !IsCamera(source) && !is_generated && !is_pipeline &&
         source.find("://") == std::string::npos;
}

}  // namespace cacheinf
