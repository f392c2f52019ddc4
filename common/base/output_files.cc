#include "common/base/output_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/base/error.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// Anything that is neither a file nor a folder, like /dev/null, may be written to twice.
bool IsDevice(const fs::path& path) {
  std::error_code error;
  return fs::is_other(path, error);
}

bool AreSame(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path canonical = fs::weakly_canonical(fs::absolute(a), error);
  return !error && canonical == fs::weakly_canonical(fs::absolute(b), error) && !error;
}

// Whether `output` is `input`, or an existing file in the folder `input`.
bool Overwrites(const fs::path& output, const fs::path& input) {
  std::error_code error;
  if (!fs::exists(input, error) || IsDevice(input)) return false;
  if (AreSame(output, input)) return true;
  return fs::is_directory(input, error) && fs::is_regular_file(output, error) &&
         AreSame(fs::absolute(output).parent_path(), input);
}

bool CanBeWritten(const fs::path& path) {
  std::error_code error;
  if (path.filename().empty() || fs::is_directory(path, error)) return false;
  if (access(path.c_str(), W_OK) == 0) return true;
  if (errno != ENOENT) return false;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (fs::is_symlink(path, error)) return CanBeWritten(folder / fs::read_symlink(path, error));
  return fs::is_directory(folder, error) && access(folder.c_str(), W_OK | X_OK) == 0;
}

std::vector<NamedPath> WithoutEmpty(const std::vector<NamedPath>& paths) {
  std::vector<NamedPath> given;
  for (const NamedPath& path : paths) {
    if (!path.path.empty()) given.push_back(path);
  }
  return given;
}

}  // namespace

void CheckOverwriting(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs) {
  const std::vector<NamedPath> read = WithoutEmpty(inputs);
  const std::vector<NamedPath> all_written = WithoutEmpty(outputs);
  for (size_t i = 0; i < all_written.size(); ++i) {
    const NamedPath& written = all_written[i];
    for (const NamedPath& input : read) {
      if (!Overwrites(written.path, input.path)) continue;
      throw InputError(fmt::format("{} {} would overwrite what {} reads", written.option,
                                   written.path.string(), input.option));
    }
    for (size_t j = 0; j < i; ++j) {
      if (IsDevice(written.path) || !AreSame(written.path, all_written[j].path)) continue;
      throw InputError(fmt::format("{} and {} name the same file, {}", all_written[j].option,
                                   written.option, written.path.string()));
    }
  }
}

void CheckWritable(const std::vector<NamedPath>& files) {
  for (const NamedPath& file : WithoutEmpty(files)) {
    if (CanBeWritten(file.path)) continue;
    throw InputError(fmt::format("{} {}: cannot be written", file.option, file.path.string()));
  }
}

void CheckFolder(const NamedPath& folder) {
  if (folder.path.empty()) return;
  std::error_code error;
  fs::path there = fs::absolute(folder.path, error).lexically_normal();
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (fs::is_directory(there, error) && access(there.c_str(), W_OK | X_OK) == 0) return;
  throw InputError(folder.option, " ", folder.path.string(),
                   fs::is_directory(there, error) ? ": cannot be made" : ": is not a folder");
}

void CheckExtension(const NamedPath& file, std::string_view extension) {
  if (file.path.empty() || file.path.extension() == extension) return;
  throw InputError(
      fmt::format("{} {}: its name must end in {}", file.option, file.path.string(), extension));
}

}  // namespace cacheinf
