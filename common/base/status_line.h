#ifndef CACHEINF_COMMON_BASE_STATUS_LINE_H_
#define CACHEINF_COMMON_BASE_STATUS_LINE_H_

#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>

#include "common/base/clock.h"

namespace cacheinf {

// Shows the progress of something slow: one line on stderr that changes in place on a terminal,
// else a line in the log every few seconds.
class StatusLine {
 public:
  explicit StatusLine(const Clock& clock, bool on_terminal = isatty(STDERR_FILENO) != 0);
  ~StatusLine();  // ends the line
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Shows what `line` returns, if it is time for that.
  void Show(const std::function<std::string()>& line);

 private:
  const Clock& clock_;
  const bool on_terminal_;
  std::chrono::nanoseconds last_shown_;
  bool has_line_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_STATUS_LINE_H_
