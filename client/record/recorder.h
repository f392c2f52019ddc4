#ifndef CACHEINF_CLIENT_RECORD_RECORDER_H_
#define CACHEINF_CLIENT_RECORD_RECORDER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/record/recording.h"
#include "client/robot.h"
#include "common/answer/answers.h"
#include "common/config/robot_config.h"

namespace cacheinf {

// Keeps the last seconds of a run in memory, and writes them to a new folder when something looks
// wrong. Makes the robot forget its results once per span, so that a recording always begins with a
// frame that depends on no earlier one. Keeps between one and two spans.
//
// Writes on its own thread, one recording at a time, and one per span and reason. Logs the first
// failure as an error; the run then goes on without recordings.
class Recorder {
 public:
  // Makes the folder; a failure is handled like one of writing. `graph` is the robot's, with its
  // layers' schemes. REQUIRES: config.record.folder is not empty.
  Recorder(const RobotConfig& config, const Graph& graph);
  ~Recorder();  // waits for a recording that is being written
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Call before the robot sees the frame. Returns the verdict to give the robot; where a span
  // begins, it tells the robot to forget.
  Verdict Before(const Frame& frame, const Verdict& verdict);

  // Call for every answer to a frame that was begun, while the robot still holds its outputs.
  // Records a late answer, unless it is late because the recorder made the robot forget.
  void Keep(const Frame& frame, const Answer& answer, const Robot& robot);

  // Whether this is the frame of the last Before.
  bool HasBegun(const Frame& frame) const { return begun_ == frame.index; }

  // Adds the refresh that the robot did after the last answer.
  void KeepRefresh(const FrameDecision& refresh);

  // Call when a step threw. Writes the recording before it returns. REQUIRES: Keep was called for
  // the frame if it was answered.
  void KeepFailure(const Frame& frame, FrameStep step, const std::string& error);

  // Writes what is kept. `reason` is part of the folder's name, `detail` is for people.
  void Record(const std::string& reason, const std::string& detail);

  // Waits until all is written. Returns one sentence on why something is not; empty if all is.
  std::string Finish();

 private:
  using Span = std::vector<std::shared_ptr<const RecordedFrame>>;

  // Whether nothing will be written any more.
  bool is_done() const { return has_failed_ || left_ == 0; }
  void Fail(const std::string& error);
  bool IsSpanOver(const Frame& frame) const;
  bool IsLate(const Answer& answer) const;
  bool IsLast(const Frame& frame) const;
  RecordedFrame TakeLast();
  void Append(RecordedFrame frame);
  Recording WhatIsKept(const std::string& reason, const std::string& detail) const;
  void Write(Recording recording);
  std::filesystem::path FreeName(const Recording& recording) const;

  RobotConfig config_;
  NamedSchemes schemes_;
  std::chrono::nanoseconds span_;
  size_t span_bytes_;
  double deadline_ms_;
  int left_;  // recordings that may still be written
  std::filesystem::path folder_;
  Span earlier_;
  Span current_;
  size_t current_bytes_ = 0;
  std::set<std::string> recorded_;  // reasons recorded in this span
  // The current frame's.
  std::optional<int64_t> begun_;
  Verdict verdict_;
  bool was_made_to_forget_ = false;
  bool waits_for_one_made_to_forget_ = false;
  std::atomic<bool> is_writing_ = false;
  std::atomic<bool> has_failed_ = false;
  std::string failure_;  // once writing has failed
  std::thread writer_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RECORD_RECORDER_H_
