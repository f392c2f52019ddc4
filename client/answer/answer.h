#ifndef CACHEINF_CLIENT_ANSWER_ANSWER_H_
#define CACHEINF_CLIENT_ANSWER_ANSWER_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/answer/answers.h"
#include "common/base/frame_times.h"
#include "common/pair/server_part.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

// A robot's answer to a frame.
struct Answer : FrameExpense {
  int64_t frame = 0;
  int64_t computed_from = 0;          // the frame the content is from: this one or an earlier one
  std::chrono::nanoseconds stamp{0};  // of the frame
  bool is_moved = false;              // an earlier frame's answer, as the scene has moved since
  std::optional<GuardState> guard;    // if a guard watches
  double deadline_ms = 0;             // for the latency; 0: none
  std::string emulation;  // slowdown of the robot and its link (--emulate), for experiments
  std::string plan;       // the plan that computed it, in mode cacheinf: "local cache"
  std::optional<std::chrono::nanoseconds> predicted;  // the latency predicted by the chosen plan
  AnswerContent content;

  std::chrono::nanoseconds latency() const { return times.latency(); }
  bool is_late() const;
};

// A part of an answer's latency, as answers and summaries name it.
struct NamedTime {
  const char* key;
  FrameTimes::Time FrameTimes::*time;
  const char* doc = nullptr;  // of a field of answers
};
inline constexpr NamedTime kServerTimes[] = {
    {"encode_ms", &FrameTimes::encoding, "Time of encoding on the robot."},
    {"wait_ms", &FrameTimes::waiting, "Time that the robot waited for the link and the server."},
    {"queue_ms", &FrameTimes::server_queueing, "Of that, time behind other robots' frames."},
    {"decode_ms", &FrameTimes::server_decoding, "Of that, time of decoding on the server."},
    {"compute_ms", &FrameTimes::server_computing, "Of that, time of computing on the server."},
};

// Returns one line of JSON without its line break.
std::string ToJsonLine(const Answer& answer, const AnswerReader& reader);

// The JSON Schema of such a line. It knows every field.
std::string AnswersSchema();

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_ANSWER_H_
