#ifndef CACHEINF_SERVER_TURNS_H_
#define CACHEINF_SERVER_TURNS_H_

#include <chrono>
#include <optional>
#include <vector>

#include "common/base/clock.h"
#include "common/pair/session.h"

namespace cacheinf {

// Shares the computing thread of a server among its robots, by time: next comes the robot that has
// computed for the least; among robots about level, the one whose answer is due first. A robot with
// nothing to compute saves up no more than a moment.
//
// Nothing interrupts a stage. A robot with a stage so long that others' frames come too late rests
// afterwards, until it has had no more than its share of the time that has passed. So a robot with
// quick frames still gets most of them answered, although the thread may be idle during a rest.
class Turns {
 public:
  // The clock must outlive this.
  explicit Turns(const Clock& clock) : clock_(clock) {}

  // The session must outlive its part in this.
  void Add(Session& session) { robots_.push_back({.session = &session}); }
  void Remove(const Session& session);

  // Hears all robots, and computes a stage or a few for one of them. Returns whether there was
  // anything to do.
  bool Take();

 private:
  using Time = std::chrono::nanoseconds;

  struct Robot {
    Session* session;
    Time used{};                         // computing
    bool is_idle = true;                 // when last looked at
    std::optional<Time> worked_at = {};  // last
    Time last_stages{};                  // how long they took
    bool has_been_tried = false;         // in this turn
  };

  bool Compute(Robot& robot);
  bool Rests(const Robot& robot, Time now) const;
  Robot* Next(Time now);
  Time Level(const Robot& robot) const;

  const Clock& clock_;
  std::vector<Robot> robots_;
  Time level_{};  // of the robot that had the last turn, before it
};

}  // namespace cacheinf

#endif  // CACHEINF_SERVER_TURNS_H_
