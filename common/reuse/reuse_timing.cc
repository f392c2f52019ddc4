#include "common/reuse/reuse_timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/log.h"

namespace cacheinf {
namespace {

constexpr size_t kWholeFrames = 5;
constexpr std::chrono::milliseconds kLeast(2);
// A little longer for much less work is no loss.
constexpr double kSlow = 1.1;
// An answer this much quicker is worth a refresh after it.
constexpr double kQuicker = 0.9;
constexpr double kSlowAgainstFirst = 2.0 / 3;
constexpr int kCause = 2;
constexpr int kForAWhile = 4;
constexpr int kForLong = 50;

}  // namespace

void ReuseTiming::Note(const FrameWork& work, Time took, Time refresh_took, int64_t frame) {
  is_slow_ = false;
  // A frame that found no place in what is stored was looked at twice.
  if (work.loss != Loss::kNone) return;
  if (work.is_dense) return NoteWhole(took);
  if (whole_.empty()) return;
  const bool is_quick = whole_.size() == 1
                            ? took <= kSlowAgainstFirst * Whole()
                            : took <= kQuicker * Whole() || took + refresh_took <= kSlow * Whole();
  if (took < kLeast || is_quick) {
    if (has_warned_ && ++quick_ == kForLong) {
      has_warned_ = false;
      LogInfo(fmt::format("frame {}: reusing results is quicker again, so the robot reuses them",
                          frame));
    }
    slow_ = 0;
    return;
  }
  quick_ = 0;
  is_slow_ = ++slow_ >= kCause;
  if (slow_ != kForAWhile || has_warned_) return;
  has_warned_ = true;
  const std::string refreshing =
      refresh_took.count() == 0 ? ""
                                : fmt::format(" and refreshing {:.1f}", Milliseconds(refresh_took));
  LogWarning(
      fmt::format("frame {}: reusing results took {:.1f} ms{} where computing everything takes "
                  "{:.1f} ms, so the robot computes frames whole, and tries again now and then",
                  frame, Milliseconds(took), refreshing, Milliseconds(Whole())));
}

void ReuseTiming::NoteWhole(Time took) {
  whole_.push_back(took);
  if (whole_.size() > kWholeFrames) whole_.pop_front();
}

// The median.
ReuseTiming::Time ReuseTiming::Whole() const {
  std::vector<Time> times(whole_.begin(), whole_.end());
  // If there are two, the first was slower, as its memory was new.
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace cacheinf
