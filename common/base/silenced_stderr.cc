#include "common/base/silenced_stderr.h"

#include <fcntl.h>
#include <unistd.h>

#include <mutex>

namespace cacheinf {
namespace {

struct Silence {
  std::mutex mutex;
  int count = 0;
  int kept = -1;  // the original standard error; -1: nothing is silenced
};

Silence& OfThisProcess() {
  static Silence silence;
  return silence;
}

}  // namespace

SilencedStderr::SilencedStderr() {
  Silence& silence = OfThisProcess();
  const std::lock_guard lock(silence.mutex);
  if (silence.count++ > 0) return;
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0) return;
  silence.kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (silence.kept >= 0) dup2(nothing, STDERR_FILENO);
  close(nothing);
}

SilencedStderr::~SilencedStderr() {
  Silence& silence = OfThisProcess();
  const std::lock_guard lock(silence.mutex);
  if (--silence.count > 0 || silence.kept < 0) return;
  dup2(silence.kept, STDERR_FILENO);
  close(silence.kept);
  silence.kept = -1;
}

}  // namespace cacheinf
