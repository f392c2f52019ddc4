#include "client/run/line_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf {

LineFile::LineFile() : name_("standard output"), number_(STDOUT_FILENO) {}

LineFile::LineFile(const std::string& path)
    : name_(path),
      own_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      number_(own_.get()) {
  if (!own_) Refuse();
}

void LineFile::Write(const std::string& line) {
  if (!own_) std::cout << std::flush;
  if (!rest_.empty()) {
    if (!Put()) return Lose();
    --lost_;  // it is whole after all
  }
  rest_ = line + '\n';
  const size_t length = rest_.size();
  if (!Put()) {
    if (rest_.size() == length) rest_.clear();
    return Lose();
  }
  size_ += static_cast<off_t>(length);
  if (std::exchange(is_full_, false)) LogInfo(fmt::format("{}: written again", name_));
}

std::string LineFile::Gap() const {
  return lost_ == 0 ? "" : fmt::format("{}: {} lines could not be written", name_, lost_);
}

void LineFile::Refuse() const { throw InputError(fmt::format("{}: cannot be written", name_)); }

// Writes as much of `rest_` as it can, and returns whether that was all.
bool LineFile::Put() {
  while (!rest_.empty()) {
    const ssize_t count = write(number_, rest_.data(), rest_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    rest_.erase(0, static_cast<size_t>(count));
  }
  return true;
}

// Leaves no partial line in a file. Others may write to standard output, so there the rest comes
// later.
void LineFile::Lose() {
  struct stat status {};
  if (size_ == 0 || fstat(number_, &status) != 0 || !S_ISREG(status.st_mode)) Refuse();
  if (own_ && ftruncate(number_, size_) == 0) {
    lseek(number_, size_, SEEK_SET);
    rest_.clear();
  }
  ++lost_;
  if (!std::exchange(is_full_, true)) {
    LogWarning(fmt::format("{}: cannot be written, and lacks lines until it can be", name_));
  }
}

}  // namespace cacheinf
