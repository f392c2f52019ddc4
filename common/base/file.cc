#include "common/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/base/error.h"

namespace cacheinf {
namespace {

uint64_t SizeOfRegularFile(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw InputError(path.string() + ": no such file");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(path.string() + ": not a file");
  }
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) throw InputError(path.string() + ": " + error.message());
  return size;
}

struct Unmapper {
  size_t size = 0;
  void operator()(const std::byte* data) const { munmap(const_cast<std::byte*>(data), size); }
};

[[noreturn]] void FailToRead(const std::filesystem::path& path, int error) {
  throw InputError(path.string() + ": cannot be read: " + std::strerror(error));
}

// Returns why the file could not be put in place, or 0. Throws InputError if not even a new one
// beside it can be written.
int TryToReplace(const std::filesystem::path& path, std::span<const std::string_view> parts) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::weakly_canonical(path, error);
  static std::atomic<int> count = 0;  // two threads may write one file
  const std::filesystem::path unfinished =
      file.string() + "." + std::to_string(getpid()) + "." + std::to_string(++count) + ".tmp";
  const auto fail = [&](const char* why) {
    std::filesystem::remove(unfinished, error);
    throw InputError("cannot write '" + path.string() + "': " + why);
  };
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail("it exists and is not a file");
  }
  std::ofstream stream(unfinished, std::ios::binary);
  for (const std::string_view part : parts) stream << part;
  stream.close();
  if (!stream) fail(std::strerror(errno));
  const int descriptor = open(unfinished.c_str(), O_WRONLY | O_CLOEXEC);
  const bool is_on_disk = descriptor >= 0 && fsync(descriptor) == 0;
  const int fault = errno;
  if (descriptor >= 0) close(descriptor);
  if (!is_on_disk) fail(std::strerror(fault));
  const int why = rename(unfinished.c_str(), file.c_str()) == 0 ? 0 : errno;
  if (why != 0) std::filesystem::remove(unfinished, error);
  return why;
}

}  // namespace

std::string ReadFile(const std::filesystem::path& path, uint64_t largest_bytes) {
  const uint64_t size = SizeOfRegularFile(path);
  if (size > largest_bytes) {
    throw InputError(path.string() + ": " + std::to_string(size) + " bytes long, more than the " +
                     std::to_string(largest_bytes) + " allowed");
  }
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file) throw InputError(path.string() + ": cannot be read");
  return bytes;
}

void WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes << std::flush;
  if (!file) throw InputError(path.string() + ": cannot be written");
}

void ReplaceFile(const std::filesystem::path& path, std::span<const std::string_view> parts) {
  if (const int why = TryToReplace(path, parts)) {
    throw InputError("cannot write '" + path.string() + "': " + std::strerror(why));
  }
}

void WriteWhole(const std::filesystem::path& path, std::string_view bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path file = fs::weakly_canonical(fs::absolute(path), error);
  const fs::file_status status = fs::status(file, error);
  const bool is_replaceable = (!fs::exists(status) || fs::is_regular_file(status)) &&
                              access(file.parent_path().c_str(), W_OK | X_OK) == 0;
  // In a folder for all, another user's file stays in its place, and so does one that is mounted.
  if (!is_replaceable || TryToReplace(path, {&bytes, 1}) != 0) WriteFile(path, bytes);
}

MappedFile MapFile(const std::filesystem::path& path) {
  const size_t size = SizeOfRegularFile(path);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) FailToRead(path, errno);
  if (size == 0) {
    close(descriptor);
    return {};
  }
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (mapping == MAP_FAILED) FailToRead(path, error);
  return {{static_cast<const std::byte*>(mapping), Unmapper{size}}, size};
}

}  // namespace cacheinf
