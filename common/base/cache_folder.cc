#include "common/base/cache_folder.h"

#include <cstdlib>
#include <system_error>

#include "common/base/file.h"

namespace cacheinf {

std::filesystem::path CacheFolder() {
  const char* const cache = std::getenv("CACHEINF_CACHE");
  if (cache != nullptr && *cache != 0) return cache;
  const char* const home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "" : home) / ".cache/cacheinf";
}

void WriteCacheFile(const std::filesystem::path& file, std::string_view bytes) {
  std::error_code error;  // of what follows, too
  std::filesystem::create_directories(file.parent_path(), error);
  ReplaceFile(file, {&bytes, 1});
}

}  // namespace cacheinf
