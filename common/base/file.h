#ifndef CACHEINF_COMMON_BASE_FILE_H_
#define CACHEINF_COMMON_BASE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace cacheinf {

// A regular file's bytes. Throws InputError, naming the file, if it is missing, not a regular file,
// not readable, or longer than `largest_bytes`.
std::string ReadFile(const std::filesystem::path& path,
                     uint64_t largest_bytes = std::numeric_limits<uint64_t>::max());

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FILE_H_
