#include "client/run/progress.h"

#include <fmt/core.h>

#include <cstdio>

#include "common/base/log.h"

namespace cacheinf {
namespace {

constexpr std::chrono::milliseconds kTerminalPeriod{100};
constexpr std::chrono::seconds kLogPeriod{5};

}  // namespace

Progress::Progress(const Clock& clock, int64_t total_frames, bool on_terminal)
    : clock_(clock),
      total_frames_(total_frames),
      on_terminal_(on_terminal),
      last_shown_(clock.Now()) {}

Progress::~Progress() {
  if (has_line_) std::fputs("\n", stderr);
}

void Progress::Update(int64_t frames, std::chrono::nanoseconds elapsed,
                      const LatencyHistogram& latency, const WorkShares& work) {
  const auto now = clock_.Now();
  if (on_terminal_ && now - last_shown_ >= kTerminalPeriod) {
    const std::string line = ProgressLine(frames, total_frames_, elapsed, latency, work);
    fmt::print(stderr, "\r{}\x1b[K", line);
    std::fflush(stderr);
    has_line_ = true;
    last_shown_ = now;
  } else if (!on_terminal_ && now - last_shown_ >= kLogPeriod) {
    LogInfo(ProgressLine(frames, total_frames_, elapsed, latency, work));
    last_shown_ = now;
  }
}

std::string ProgressLine(int64_t frames, int64_t total_frames, std::chrono::nanoseconds elapsed,
                         const LatencyHistogram& latency, const WorkShares& work) {
  const double seconds = Milliseconds(elapsed) / 1e3;
  const double rate = seconds > 0 ? static_cast<double>(frames) / seconds : 0;
  const std::string total = total_frames > 0 ? fmt::format("/{}", total_frames) : "";
  const std::string line = fmt::format(
      "frame {}{}  {:.1f} fps  p50 {:.1f} ms  p95 {:.1f} ms  p99 {:.1f} ms", frames, total, rate,
      latency.PercentileMs(0.50), latency.PercentileMs(0.95), latency.PercentileMs(0.99));
  if (work.frames == 0) return line;
  return fmt::format("{}  reuse {:.0f} %  work {:.0f} %", line, 100 * (1 - work.active()),
                     100 * work.share());
}

}  // namespace cacheinf
