#ifndef CACHEINF_TESTS_EXEC_TOGETHER_H_
#define CACHEINF_TESTS_EXEC_TOGETHER_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/exec/model_state.h"
#include "common/plan/split.h"
#include "tests/testing/changing_frames.h"

namespace cacheinf {

// Has a robot and a server compute a frame together, whose picture only the robot gets.
inline void ApplyTogether(const DecidedFrame& frame, const ChangePolicy& policy,
                          const SplitRows& rows, ModelState& robot, ModelState& server) {
  robot.BeginFrame(frame.decision, frame.picture(), policy, &rows.robot);
  server.BeginFrame(frame.decision, {}, policy, &rows.server);
  auto transfer = rows.transfers.begin();
  for (size_t stage = 0; stage <= robot.stage_count(); ++stage) {
    for (; transfer != rows.transfers.end() && transfer->after_stages == stage; ++transfer) {
      const bool goes_up = transfer->from == Side::kRobot;
      ModelState& from = goes_up ? robot : server;
      ModelState& to = goes_up ? server : robot;
      std::vector<uint8_t> bytes;
      from.Pack(transfer->value, transfer->rows, &bytes);
      ASSERT_EQ(to.Unpack(transfer->value, transfer->rows, bytes), nullptr);
    }
    if (stage == robot.stage_count()) break;
    robot.Step();
    server.Step();
  }
  for (ModelState* state : {&robot, &server}) {
    state->Commit();
    state->ConfirmSent();
  }
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_EXEC_TOGETHER_H_
