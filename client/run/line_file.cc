#include "client/run/line_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <iostream>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf {

namespace {

constexpr int kLookMs = 200;  // how long it waits for a reader at a time

}  // namespace

LineFile::LineFile(IsOver is_over)
    : name_("standard output"), is_over_(std::move(is_over)), number_(STDOUT_FILENO) {}

LineFile::LineFile(const std::string& path, IsOver is_over)
    : name_(path),
      is_over_(std::move(is_over)),
      own_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      number_(own_.get()) {
  if (!own_) Refuse();
}

void LineFile::Write(const std::string& line) {
  if (is_left_) return;
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
  if (is_left_) return fmt::format("{}: cannot be written", name_);
  return lost_ == 0 ? "" : fmt::format("{}: {} lines could not be written", name_, lost_);
}

void LineFile::Refuse() const { throw InputError(fmt::format("{}: cannot be written", name_)); }

// Waits until a write does not block, or fails. Returns false if that takes long and all is over.
bool LineFile::HasRoom() const {
  while (true) {
    const bool is_over = is_over_ && is_over_();
    pollfd room = {number_, POLLOUT, 0};
    const int ready = poll(&room, 1, kLookMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (ready == 0 && is_over) return false;
  }
}

// Writes as much of `rest_` as it can, and returns whether that was all.
bool LineFile::Put() {
  while (!rest_.empty()) {
    if (!HasRoom()) {
      is_left_ = true;
      return false;
    }
    // A pipe with any room takes so much.
    const ssize_t count = write(number_, rest_.data(), std::min<size_t>(rest_.size(), PIPE_BUF));
    if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    is_left_ = count < 0 && errno == EPIPE;
    if (count <= 0) return false;
    rest_.erase(0, static_cast<size_t>(count));
  }
  return true;
}

// Leaves no partial line in a file. Others may write to standard output, so there the rest comes
// later.
void LineFile::Lose() {
  if (is_left_) return;
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
