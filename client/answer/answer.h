#ifndef CACHEINF_CLIENT_ANSWER_ANSWER_H_
#define CACHEINF_CLIENT_ANSWER_ANSWER_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/answer/answers.h"
#include "common/pair/server_part.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

// What a robot answers to a frame.
struct Answer {
  int64_t frame = 0;
  int64_t computed_from = 0;          // the frame of the content: this one, or an earlier one
  std::chrono::nanoseconds stamp{0};  // the frame's
  // What the answer waited for since the frame was there: first for the robot, while it was busy
  // with the last frame, its refresh, or the guard. The frames of a record wait
  // for the robot, not it for them: for them only what was done ahead counts. Work that is left for
  // after the answer counts in the frame rate only.
  std::chrono::nanoseconds waited{0};
  std::chrono::nanoseconds preprocess{0};
  std::chrono::nanoseconds compute{0};
  std::chrono::nanoseconds decode{0};
  std::optional<FrameWork> work;     // what was computed, where results are kept
  std::optional<GuardState> guard;   // where one watches
  std::optional<ServerPart> server;  // where one has a part in it
  double deadline_ms = 0;            // for the latency; 0: none
  std::string emulation;             // of the robot and its link (--emulate), for experiments
  std::string plan;                  // that it was computed by, in mode cacheinf: "local cache"
  std::optional<std::chrono::nanoseconds> predicted;  // the latency, by the plan chosen
  AnswerContent content;

  // Where only what changed was computed: the share of a dense run's multiply-adds, both sides'.
  std::optional<double> share() const;
  std::chrono::nanoseconds latency() const { return waited + preprocess + compute + decode; }
  bool is_late() const;
};

// One line of JSON, without its line break.
std::string ToJsonLine(const Answer& answer, const AnswerReader& reader);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_ANSWER_H_
