#ifndef CACHEINF_COMMON_BASE_CACHE_FOLDER_H_
#define CACHEINF_COMMON_BASE_CACHE_FOLDER_H_

#include <filesystem>
#include <string_view>

namespace cacheinf {

// $CACHEINF_CACHE, else ~/.cache/cacheinf.
std::filesystem::path CacheFolder();

// Writes a file of a cache, and makes its folder. Whoever reads it meanwhile finds it as it was
// before, or whole. Throws InputError, naming the file, if that fails.
void WriteCacheFile(const std::filesystem::path& file, std::string_view bytes);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_CACHE_FOLDER_H_
