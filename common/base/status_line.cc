#include "common/base/status_line.h"

#include <fmt/core.h>

#include <cstdio>

#include "common/base/log.h"

namespace cacheinf {
namespace {

constexpr std::chrono::milliseconds kTerminalPeriod{100};
constexpr std::chrono::seconds kLogPeriod{5};

}  // namespace

StatusLine::StatusLine(const Clock& clock, bool on_terminal)
    : clock_(clock), on_terminal_(on_terminal), last_shown_(clock.Now()) {}

StatusLine::~StatusLine() {
  if (has_line_) std::fputs("\n", stderr);
}

void StatusLine::Show(const std::function<std::string()>& line) {
  const auto now = clock_.Now();
  const std::chrono::nanoseconds period = on_terminal_ ? kTerminalPeriod : kLogPeriod;
  if (now - last_shown_ < period) return;
  last_shown_ = now;
  if (!on_terminal_) return LogInfo(line());
  fmt::print(stderr, "\r{}\x1b[K", line());
  std::fflush(stderr);
  has_line_ = true;
}

}  // namespace cacheinf
