#include "common/pair/patience.h"

#include <algorithm>

namespace cacheinf {
Patience::Time Patience::GiveUpAt(Time begin, Time due, Alone alone) {
  if (due == kNever) return kNever;
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

void Patience::NoteServer(std::optional<Time> took) { Add(server_, took.value_or(kNever)); }

void Patience::NoteAlone(Alone alone, Time took) { Add(alone_[static_cast<size_t>(alone)], took); }

void Patience::ForgetServer() { server_.clear(); }

void Patience::Add(Times& times, Time time) {
  times.push_back(time);
  if (times.size() > kRecent) times.pop_front();
}

// Returns the longest time but one, or 0 before the first frame.
Patience::Time Patience::ExpectedAlone(Alone alone) const {
  const auto& own = alone_[static_cast<size_t>(alone)];
  Times times = own.empty() ? alone_[1 - static_cast<size_t>(alone)] : own;
  if (times.empty()) return Time(0);
  std::sort(times.begin(), times.end());
  return times.size() == 1 ? times.front() : times[times.size() - 2];
}

// Returns the shorter of the last two times, or 0 before the first frame.
Patience::Time Patience::ExpectedOfServer() const {
  if (server_.empty()) return Time(0);
  const Time last = server_.back();
  return server_.size() == 1 ? last : std::min(last, server_[server_.size() - 2]);
}

bool Patience::IsUsuallyWithin(Time time) const {
  const auto within =
      std::count_if(server_.begin(), server_.end(), [time](Time took) { return took <= time; });
  return within > 0 && static_cast<size_t>(within) + 1 >= server_.size();
}

}  // namespace cacheinf
