#ifndef CACHEINF_COMMON_BASE_CACHE_FOLDER_H_
#define CACHEINF_COMMON_BASE_CACHE_FOLDER_H_

#include <filesystem>

namespace cacheinf {

// $CACHEINF_CACHE, else ~/.cache/cacheinf.
std::filesystem::path CacheFolder();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_CACHE_FOLDER_H_
