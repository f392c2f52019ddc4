#include "common/base/file.h"

#include <fmt/format.h>

#include <fstream>

#include "common/base/error.h"

namespace cacheinf {

std::string ReadFile(const std::filesystem::path& path, uint64_t largest_bytes) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw InputError(fmt::format("{}: no such file", path.string()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(fmt::format("{}: not a file", path.string()));
  }
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) throw InputError(fmt::format("{}: {}", path.string(), error.message()));
  if (size > largest_bytes) {
    throw InputError(fmt::format("{}: {} bytes long, more than the {} allowed", path.string(), size,
                                 largest_bytes));
  }
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file) throw InputError(fmt::format("{}: cannot be read", path.string()));
  return bytes;
}

}  // namespace cacheinf
