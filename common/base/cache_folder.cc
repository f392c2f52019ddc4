#include "common/base/cache_folder.h"

#include <cstdlib>

namespace cacheinf {

std::filesystem::path CacheFolder() {
  const char* const cache = std::getenv("CACHEINF_CACHE");
  if (cache != nullptr && *cache != 0) return cache;
  const char* const home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "" : home) / ".cache/cacheinf";
}

}  // namespace cacheinf
