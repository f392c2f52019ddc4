#include "common/pair/patience.h"

#include <algorithm>

namespace cacheinf {
namespace {

// A machine may stand still for so long.
constexpr std::chrono::milliseconds kLeastAlone(200);
constexpr int kMostDoublings = 6;

}  // namespace

Patience::Time Patience::GiveUpAt(Time begin, Time due, Alone alone) {
  if (due == kNever) {
    const Time wait = LongestWait(alone);
    return wait == kNever ? kNever : begin + wait;
  }
  const Time time_alone = ExpectedAlone(alone);
  const Time time_of_server = ExpectedOfServer();
  const Time last_moment = due - time_alone;
  const bool can_be_in_time = last_moment >= begin;
  Time give_up_at = begin;
  if (!can_be_in_time) {
    if (time_of_server < time_alone) give_up_at = begin + time_alone;
  } else if (time_of_server <= last_moment - begin || not_waited_for_ >= kMostNotWaitedFor) {
    give_up_at = last_moment;
  } else if (IsUsuallyWithin(due - begin)) {
    give_up_at = due;
  }
  not_waited_for_ = give_up_at == begin ? not_waited_for_ + 1 : 0;
  return give_up_at;
}

void Patience::NoteServer(std::optional<Time> took, bool is_heard) {
  Add(server_, took.value_or(kNever), kAnswersKept);
  is_silent_ = !took && !is_heard;
}

void Patience::NoteAlone(Alone alone, Time took) {
  Add(alone_[static_cast<size_t>(alone)], took, kRecent);
}

void Patience::ForgetServer() {
  server_.clear();
  is_silent_ = false;
}

void Patience::Add(Times& times, Time time, size_t most) {
  times.push_back(time);
  if (times.size() > most) times.pop_front();
}

// Where there is no deadline.
Patience::Time Patience::LongestWait(Alone alone) const {
  if (is_silent_) return Time(0);
  Time longest(-1);
  int unanswered = 0;  // in a row
  for (const Time time : server_) {
    unanswered = time == kNever ? unanswered + 1 : 0;
    if (time != kNever) longest = std::max(longest, time);
  }
  if (longest < Time(0)) return kNever;
  const Time wait = longest + std::max<Time>(kLeastAlone, ExpectedAlone(alone));
  return wait * (1 << std::min(unanswered, kMostDoublings));
}

// Returns the longest time but one, or 0 before the first frame.
Patience::Time Patience::ExpectedAlone(Alone alone) const {
  const auto& own = alone_[static_cast<size_t>(alone)];
  Times times = own.empty() ? alone_[1 - static_cast<size_t>(alone)] : own;
  if (times.empty()) return Time(0);
  std::sort(times.begin(), times.end());
  return times.size() == 1 ? times.front() : times[times.size() - 2];
}

Patience::Time Patience::ExpectedOfServer() const {
  if (server_.empty()) return Time(0);
  const Time last = server_.back();
  return server_.size() == 1 ? last : std::min(last, server_[server_.size() - 2]);
}

bool Patience::IsUsuallyWithin(Time time) const {
  const size_t recent = std::min(server_.size(), kRecent);
  const auto within = std::count_if(server_.end() - static_cast<ptrdiff_t>(recent), server_.end(),
                                    [time](Time took) { return took <= time; });
  return within > 0 && static_cast<size_t>(within) + 1 >= recent;
}

}  // namespace cacheinf
