#ifndef CACHEINF_TESTS_PLAN_CHOOSER_FRAMES_H_
#define CACHEINF_TESTS_PLAN_CHOOSER_FRAMES_H_

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/frame_times.h"
#include "common/plan/plan.h"
#include "common/plan/plan_chooser.h"
#include "tests/plan/profiles.h"

// Frames that a chooser is told of.

namespace cacheinf {

inline FrameTimes::Time TimeOf(double ms) {
  return std::chrono::duration_cast<FrameTimes::Time>(
      std::chrono::duration<double, std::milli>(ms));
}

// What a frame took, in milliseconds.
struct Took {
  Plan::Kind executed = Plan::Kind::kLocal;
  double latency_ms = 0;  // except for its wait
  double waited_ms = 0;
  double server_ms = 0;
  double waiting_ms = 0;
  double queue_ms = 0;
  double sent_bytes = 0;
  std::optional<double> share = {};
  bool gave_up = false;

  operator PlanChooser::Taken() const {  // NOLINT(google-explicit-constructor)
    FrameTimes times;
    times.waited = TimeOf(waited_ms);
    times.compute = TimeOf(latency_ms);
    times.waiting = TimeOf(waiting_ms);
    times.server_computing = TimeOf(server_ms);
    times.server_queueing = TimeOf(queue_ms);
    return {executed, times, sent_bytes, share, gave_up};
  }
};

inline constexpr double kPictureBytes = 40e3;

// Ten operators in a row of `ms` each on the robot; the server is four times as fast.
inline ProfilePair Profiles(double ms) {
  std::vector<ProfiledOperator> operators;
  for (int id = 0; id < 10; ++id) {
    ProfiledOperator op;
    op.name = std::to_string(id);
    AxisWindow rows;
    rows.in_size = rows.out_size = 32;
    op.inputs = {{id - 1, rows}};
    op.rows = 32;
    op.row_bytes = 1000;
    op.is_output = id == 9;
    SetCosts(op, ms);
    operators.push_back(op);
  }
  return PairOf(operators, 4, kPictureBytes);
}

inline PlanChooser ChooserOf(const ProfilePair& pair) {
  return {pair.robot, pair.server, [](const Situation&) { return std::vector<Plan>(); }};
}

inline constexpr PlanChooser::Link kFast = {.is_up = true, .to_server = {300}, .round_trip_ms = 2};
inline constexpr PlanChooser::Link kDown = {};

// What a frame took if everything is as predicted.
inline Took AsPredicted(const PlanChooser& chooser, const Plan& plan, double changed) {
  const Prediction& prediction = chooser.prediction();
  Took taken;
  taken.executed = plan.kind;
  taken.latency_ms = prediction.latency_ms;
  taken.server_ms = prediction.server_ms;
  taken.waiting_ms = prediction.latency_ms - prediction.robot_ms;
  taken.sent_bytes = prediction.up_bytes;
  if (plan.keeps) taken.share = changed;
  return taken;
}

inline Plan Settled(PlanChooser& chooser, const PlanChooser::Link& link, double changed,
                    int frames) {
  Plan plan;
  for (int frame = 0; frame < frames; ++frame) {
    plan = chooser.Choose(link);
    chooser.Note(AsPredicted(chooser, plan, changed));
  }
  return plan;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PLAN_CHOOSER_FRAMES_H_
