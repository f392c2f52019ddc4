#ifndef CACHEINF_COMMON_BASE_FILE_H_
#define CACHEINF_COMMON_BASE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cacheinf {

// A regular file's bytes. Throws InputError, naming the file, if it is missing, not a regular file,
// not readable, or longer than `largest_bytes`.
std::string ReadFile(const std::filesystem::path& path,
                     uint64_t largest_bytes = std::numeric_limits<uint64_t>::max());

// Writes a file of these bytes. Throws InputError, naming the file, if that fails.
void WriteFile(const std::filesystem::path& path, std::string_view bytes);

// Writes the parts, one after the other, as a file that gets its name, or replaces another file,
// only once it is complete and on the disk. Throws InputError, naming the file, if that fails.
void ReplaceFile(const std::filesystem::path& path, std::span<const std::string_view> parts);

// Writes a file of these bytes, by ReplaceFile where that can be: what is no regular file, such as
// a pipe, or lies in a folder that takes no other, is written as WriteFile does. Throws InputError,
// naming the file, if that fails.
void WriteWhole(const std::filesystem::path& path, std::string_view bytes);

// A file's bytes, mapped: the system reads them from disk on first access.
struct MappedFile {
  std::shared_ptr<const std::byte> data;  // keeps the mapping; page-aligned; null if size is 0
  size_t size = 0;
};

// Maps a regular file for reading. Throws InputError, naming the file, as ReadFile does.
MappedFile MapFile(const std::filesystem::path& path);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FILE_H_
