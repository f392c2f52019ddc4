#include "common/pair/patience.h"

#include <algorithm>
#include <vector>

namespace cacheinf {
namespace {

using Time = Patience::Time;

// A machine may stall for so long.
constexpr std::chrono::milliseconds kLeastAlone(200);
// Without a deadline.
constexpr std::chrono::seconds kFirstAnswer(10);
constexpr std::chrono::seconds kLeastLongest(1);
constexpr int kMostOfAlone = 8;
constexpr int kMostUnanswered = 2;  // frames in a row that waited so long
constexpr int kRestsOfAWait = 9;

constexpr int kTriesToTheEnd = 4;  // one of so many is

constexpr double kHardlyEver = 0.05;
constexpr double kWorthOfServer = 0.005;
// Frames that count as late besides those seen.
constexpr double kLateUnseen = 0.25;

int64_t CountWithin(const std::deque<Time>& sorted, Time time) {
  return std::ranges::upper_bound(sorted, time) - sorted.begin();
}

double ShareWithin(const std::deque<Time>& sorted, Time time) {
  return static_cast<double>(CountWithin(sorted, time)) /
         (static_cast<double>(sorted.size()) + kLateUnseen);
}

// With few times, the longest but one; 0 if there are none.
Time P95(const std::deque<Time>& sorted) {
  return sorted.empty() ? Time(0) : sorted[(sorted.size() - 1) * 95 / 100];
}

// The last moment from which the robot makes the deadline alone.
Time LastMoment(Time left, const std::deque<Time>& alone) {
  return std::max(Time(0), left - P95(alone));
}

}  // namespace

Patience::Time Patience::GiveUpAt(Time begin, Time due, Alone alone, const Agreements& agreements) {
  if (due == kNever) {
    const Time wait = LongestWait(begin, alone);
    not_waited_for_ = wait == Time(0) ? not_waited_for_ + 1 : 0;
    return begin + wait;
  }
  const Time left = std::max(due - begin, Time(0));
  const Times times_alone = SortedAlone(alone);
  Time wait = WaitFor(left, times_alone, agreements);
  if (wait == Time(0) && not_waited_for_ >= kMostNotWaitedFor &&
      ShareWithin(times_alone, left) >= kHardlyEver) {
    const bool is_worth_it = agreements.server > agreements.alone;
    wait = is_worth_it && tries_ % kTriesToTheEnd == 0 ? left : LastMoment(left, times_alone);
    ++tries_;
  }
  not_waited_for_ = wait == Time(0) ? not_waited_for_ + 1 : 0;
  return begin + wait;
}

Patience::Time Patience::DoneAlone(Time begin, Alone alone) const {
  return begin + P95(SortedAlone(alone));
}

void Patience::NoteServer(std::optional<Time> took, bool is_heard) {
  is_silent_ = !took && !is_heard;
  if (took) tries_ = 0;
  // A server that was not waited for may have been in time.
  if (took || not_waited_for_ == 0) Add(server_, took.value_or(kNever));
}

void Patience::NoteAlone(Alone alone, Time took) { Add(alone_[static_cast<size_t>(alone)], took); }

void Patience::ForgetServer() {
  server_.clear();
  is_silent_ = false;
  rests_until_ = Time(0);
}

void Patience::Add(Times& times, Time time) {
  times.push_back(time);
  if (times.size() > kTimesKept) times.pop_front();
}

// The wait if there is no deadline.
Patience::Time Patience::LongestWait(Time begin, Alone alone) {
  if (is_silent_) return Time(0);
  Time slowest(-1);
  int unanswered = 0;  // in a row
  for (const Time time : server_) {
    unanswered = time == kNever ? unanswered + 1 : 0;
    if (time != kNever) slowest = std::max(slowest, time);
  }
  const Times times_alone = SortedAlone(alone);
  const Time time_alone = P95(times_alone);
  Time wait = kFirstAnswer;
  Time longest = kFirstAnswer;
  if (slowest >= Time(0)) {
    wait = slowest + std::max<Time>(kLeastAlone, time_alone);
    longest = std::max<Time>(kLeastLongest, kMostOfAlone * time_alone);
    if (times_alone.empty()) longest = std::max(longest, wait);
    for (int i = 0; i < unanswered && wait < longest; ++i) wait *= 2;
  }
  if (wait < longest) return wait;
  if (unanswered >= kMostUnanswered && begin < rests_until_) return Time(0);
  rests_until_ = begin + (1 + kRestsOfAWait) * longest;
  return longest;
}

// The wait if so much time is left until the deadline.
Patience::Time Patience::WaitFor(Time left, const Times& alone,
                                 const Agreements& agreements) const {
  if (alone.empty()) return left;
  const Time time_alone = P95(alone);
  const Time time_of_server = ExpectedOfServer();
  if (ShareWithin(alone, left) < kHardlyEver) {
    return time_of_server < time_alone ? time_alone : Time(0);
  }
  const bool is_known = server_.size() > 1 || time_of_server != kNever;
  if (server_.empty() || !is_known) {
    const Time first = std::min(2 * agreements.first_of_server, left + time_alone);
    return std::max(LastMoment(left, alone), first);
  }
  Times server = server_;
  std::ranges::sort(server);
  const auto answered = [&](Time wait) {
    return wait < time_of_server ? 0.0 : ShareWithin(server, wait);
  };
  const auto worth = [&](Time wait) {
    const double from_server = answered(wait);
    const double in_time = ShareWithin(alone, left - wait);
    const double otherwise = in_time * agreements.alone + (1 - in_time) * agreements.moved;
    return from_server * (agreements.server + kWorthOfServer) + (1 - from_server) * otherwise;
  };
  // Between these moments waiting longer costs nothing.
  std::vector<Time> waits = {Time(0), left};
  for (const Time time : alone) {
    if (time < left) waits.push_back(left - time);
  }
  std::ranges::sort(waits);
  constexpr double kRounding = 1e-9;
  Time best = waits.front();
  for (const Time wait : waits) {
    if (worth(wait) >= worth(best) - kRounding) best = wait;
  }
  if (answered(best) == 0) return Time(0);
  if (best < left) return best;
  const auto in_time = CountWithin(server, left);
  const auto before_alone = CountWithin(server, left + time_alone);
  const auto later = static_cast<int64_t>(server.size()) - before_alone;
  return before_alone - in_time > later ? left + time_alone : left;
}

// Computing what changed takes, roughly, at most as long as computing all.
Patience::Times Patience::SortedAlone(Alone alone) const {
  const auto& own = alone_[static_cast<size_t>(alone)];
  Times times = own.empty() ? alone_[1 - static_cast<size_t>(alone)] : own;
  std::ranges::sort(times);
  return times;
}

Patience::Time Patience::ExpectedOfServer() const {
  if (server_.empty()) return Time(0);
  const Time last = server_.back();
  return server_.size() == 1 ? last : std::min(last, server_[server_.size() - 2]);
}

}  // namespace cacheinf
