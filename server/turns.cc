#include "server/turns.h"

#include <algorithm>
#include <utility>

namespace cacheinf {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kTurn = std::chrono::microseconds(300);      // a stage at least
constexpr nanoseconds kLongStage = std::chrono::milliseconds(50);  // others' frames are late
constexpr nanoseconds kMostCredit = kLongStage;
constexpr nanoseconds kPresent = std::chrono::seconds(1);  // since the last frame

}  // namespace

void Turns::Remove(const Session& session) {
  std::erase_if(robots_, [&](const Robot& robot) { return robot.session == &session; });
}

bool Turns::Take() {
  bool has_moved = false;
  for (Robot& robot : robots_) {
    const Time begin = clock_.Now();
    robot.has_been_tried = false;
    if (!robot.session->Hear()) continue;
    has_moved = true;
    robot.used = Level(robot) + (clock_.Now() - begin);
  }
  const Time now = clock_.Now();
  while (Robot* const robot = Next(now)) {
    robot->has_been_tried = true;
    if (Compute(*robot)) return true;
  }
  return has_moved;
}

// Where a robot stands among those that have something to compute.
Turns::Time Turns::Level(const Robot& robot) const {
  return robot.is_idle ? std::max(robot.used, level_ - kMostCredit) : robot.used;
}

bool Turns::Compute(Robot& robot) {
  const Time level = Level(robot);
  const Time begin = clock_.Now();
  robot.is_idle = !robot.session->Compute(kTurn);
  if (robot.is_idle) return false;
  level_ = level;
  robot.worked_at = clock_.Now();
  robot.last_stages = *robot.worked_at - begin;
  robot.used = level + robot.last_stages;
  return true;
}

bool Turns::Rests(const Robot& robot, Time now) const {
  if (!robot.worked_at || robot.last_stages < kLongStage) return false;
  const Time since = now - robot.last_stages - kPresent;
  const auto others = std::ranges::count_if(robots_, [&](const Robot& other) {
    return &other != &robot && other.worked_at.value_or(since) > since;
  });
  return now < *robot.worked_at + others * robot.last_stages;
}

// Null: nobody has anything to compute.
Turns::Robot* Turns::Next(Time now) {
  Robot* next = nullptr;
  Time least = Time::max();
  const auto may = [&](const Robot& robot) { return !robot.has_been_tried && !Rests(robot, now); };
  for (const Robot& robot : robots_) {
    if (may(robot)) least = std::min(least, Level(robot));
  }
  for (Robot& robot : robots_) {
    if (!may(robot) || Level(robot) > least + kTurn) continue;
    const auto order = [this](const Robot& of) { return std::pair(of.session->due(), Level(of)); };
    if (next == nullptr || order(robot) < order(*next)) next = &robot;
  }
  return next;
}

}  // namespace cacheinf
