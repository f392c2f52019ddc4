#ifndef CACHEINF_CLIENT_RECORD_RECORDING_H_
#define CACHEINF_CLIENT_RECORD_RECORDING_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/live_robot.h"
#include "common/answer/outputs.h"
#include "common/config/robot_config.h"
#include "common/exec/frame_decision.h"
#include "common/reuse/verdict.h"
#include "common/source/frame_source.h"
#include "profiler/scheme_choice.h"

// What a recorder writes and a replay reads: a folder with
//   recording.json     why it was written; build, model, schemes of its layers
//   config.json        the run's configuration, as --config takes it
//   frames.jsonl       a line per frame: what the robot was told, what it decided for the frame and
//                      the refresh after it (client/record/decision_text.h), and the result
//   frames/000012.png  the frame (a tensor: .npy)

namespace cacheinf {

// How a frame was answered.
struct FrameRecord {
  int64_t frame = 0;  // its index
  std::chrono::nanoseconds stamp{0};
  std::string name;
  Verdict verdict;  // as given to the decision
  // Nothing if the answer repeats an earlier one, or there was nothing to refresh.
  std::optional<FrameDecision> decision;
  std::optional<FrameDecision> refresh;
  double latency_ms = 0;
  uint64_t outputs = 0;                        // HashOfOutputs
  std::string answer;                          // as a line of JSON
  std::string error;                           // what was thrown; empty: nothing
  FrameStep failed_step = FrameStep::kAnswer;  // where it was thrown

  bool has_outputs() const { return error.empty() || failed_step != FrameStep::kAnswer; }
};

struct RecordedFrame {
  FrameRecord record;
  Frame frame;  // without truth
};

struct Recording {
  std::string reason;  // "guard", "error", "deadline"
  std::string detail;  // for people
  RobotConfig config;
  std::string build;                                         // BuildId
  uint64_t model_hash = 0;                                   // ModelChecksum of the robot's graph
  NamedSchemes schemes;                                      // of the model's convolutions
  std::vector<std::shared_ptr<const RecordedFrame>> frames;  // the first one has no base
};

// 64-bit FNV-1a, word by word, of 32-bit floats in logical order.
uint64_t HashOfOutputs(const FrameOutputs& outputs);

// Writes a new folder, or leaves nothing and throws InputError.
void WriteRecording(const Recording& recording, const std::filesystem::path& folder);

// Reads all but the pictures. Throws InputError naming the file and, where there is one, the line.
Recording ReadRecording(const std::filesystem::path& folder);

// Reads the frame of one of the records. Throws InputError.
Frame ReadRecordedFrame(const std::filesystem::path& folder, const FrameRecord& record);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RECORD_RECORDING_H_
