#ifndef CACHEINF_TESTS_PLAN_PROFILES_H_
#define CACHEINF_TESTS_PLAN_PROFILES_H_

#include <utility>
#include <vector>

#include "common/plan/profile.h"

// Invented profiles.

namespace cacheinf {

struct ProfilePair {
  Profile robot;
  Profile server;
};

// Sets the costs of an operator that takes `ms` with all its pixels active, and `idle_share` of
// that with none.
inline void SetCosts(ProfiledOperator& op, double ms, double idle_share = 0.05) {
  op.ms = {{{0.0, idle_share * ms}, {1.0, 1.1 * ms}}};
  op.dense_ms = ms;
  op.refresh_ms = {{{0.0, 0.0}, {1.0, 0.1 * ms}}};
  // Changes grow from operator to operator.
  op.active = {{{0.0, 0.0}, {0.25, 0.5}, {1.0, 1.0}}};
  const double bytes = static_cast<double>(op.row_bytes * op.rows);
  op.slice_bytes = {{{0.0, 40.0}, {1.0, 40.0 + 0.8 * bytes}}};
  op.whole_bytes = 40.0 + 0.8 * bytes;
  op.whole_encode_ms = op.whole_decode_ms = bytes * 1e-6;
  op.encode_ms = op.decode_ms = {{{0.0, 0.0}, {1.0, bytes * 1e-6}}};
}

// Profiles of a network whose operators have the robot's costs, for a server `speedup` times as
// fast.
inline ProfilePair PairOf(std::vector<ProfiledOperator> operators, double speedup,
                          double picture_bytes) {
  Profile robot;
  robot.side = Side::kRobot;
  robot.model = "made up";
  robot.operators = std::move(operators);
  robot.fit_ms = 0.5;
  robot.decide_ms = {{{0.0, 1.0}, {1.0, 1.5}}};
  robot.read_ms = 0.2;
  robot.picture_slice_bytes = {{{0.0, 40.0}, {1.0, 2.0 * picture_bytes}}};
  robot.picture_encode_ms = robot.picture_decode_ms = {{{1.0, picture_bytes * 1e-6}}};
  robot.codecs = {
      {"raw", Curve::Constant(picture_bytes), 0.1, 0.1},
      {"jpeg:85", Curve::Constant(picture_bytes / 8), picture_bytes * 1e-5, picture_bytes * 1e-5}};
  robot.answer_bytes = 2000;
  robot.answer_encode_ms = robot.answer_decode_ms = 0.1;
  robot.computing_watts = 12;
  robot.sending_watts = 6;
  robot.waiting_watts = 5;
  Profile server = robot;
  server.side = Side::kServer;
  for (ProfiledOperator& op : server.operators) {
    op.dense_ms /= speedup;
    op.whole_encode_ms /= speedup;
    op.whole_decode_ms /= speedup;
    for (Curve* curve : {&op.ms, &op.refresh_ms, &op.encode_ms, &op.decode_ms}) {
      for (Curve::Point& point : curve->points) point.y /= speedup;
    }
  }
  return {std::move(robot), std::move(server)};
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PLAN_PROFILES_H_
