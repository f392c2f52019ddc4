#ifndef CACHEINF_COMMON_BASE_SILENCED_STDERR_H_
#define CACHEINF_COMMON_BASE_SILENCED_STDERR_H_

namespace cacheinf {

// While one of these lives, everything that the process writes to standard error is lost. For short
// calls of libraries that print what the caller reports itself.
class SilencedStderr {
 public:
  SilencedStderr();
  ~SilencedStderr();
  SilencedStderr(const SilencedStderr&) = delete;
  SilencedStderr& operator=(const SilencedStderr&) = delete;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_SILENCED_STDERR_H_
