#ifndef CACHEINF_COMMON_BASE_SILENCED_STDERR_H_
#define CACHEINF_COMMON_BASE_SILENCED_STDERR_H_

namespace cacheinf {

// As long as one of these lives, what anybody in the process writes to standard error is lost. For
// short calls of libraries that print there what the caller says itself.
class SilencedStderr {
 public:
  SilencedStderr();
  ~SilencedStderr();
  SilencedStderr(const SilencedStderr&) = delete;
  SilencedStderr& operator=(const SilencedStderr&) = delete;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_SILENCED_STDERR_H_
