#ifndef CACHEINF_CLIENT_RUN_SUMMARY_H_
#define CACHEINF_CLIENT_RUN_SUMMARY_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/answer/answer.h"
#include "client/robot.h"
#include "common/answer/agreement.h"
#include "common/answer/statistics.h"
#include "common/config/robot_config.h"
#include "common/exec/model_state.h"
#include "common/guard/guard.h"
#include "common/link/channel.h"
#include "common/pair/server_part.h"
#include "common/source/frame_queue.h"

namespace cacheinf {

using NamedTimes = std::map<std::string_view, LatencyHistogram>;  // by NamedTime::key

// What a latency adds up to.
inline constexpr NamedTime kRobotTimes[] = {{"waited_ms", &FrameTimes::waited},
                                            {"preprocess_ms", &FrameTimes::preprocess},
                                            {"compute_ms", &FrameTimes::compute},
                                            {"decode_ms", &FrameTimes::decode}};

// What frames took where results are kept. Shares are means over the frames.
struct WorkShares {
  int64_t frames = 0;
  int64_t dense = 0;    // of these, computed whole
  int64_t rested = 0;   // of these, computed whole because reuse did not pay
  int64_t slow = 0;     // of these, because reuse took longer
  int64_t anchors = 0;  // canvas anchors made in idle time
  double active_sum = 0;
  double share_sum = 0;
  LatencyHistogram tracking;
  std::map<Loss, int64_t> losses;

  void Add(const FrameWork& work);
  void AddRefresh(const FrameWork& work) {
    share_sum += work.share;
    anchors += work.is_dense;
  }
  double active() const { return active_sum / static_cast<double>(frames); }
  double share() const { return share_sum / static_cast<double>(frames); }
};

// What a server did. Bytes and work are sums over its frames.
struct ServerShares {
  int64_t frames = 0;  // in which the server took part
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
  double work_sum = 0;
  NamedTimes times;                       // kServerTimes
  std::optional<ChannelStatistics> link;  // at the end; nothing if the server is gone
  std::string missed;                     // the address, as long as no server has been met there
  std::string why_alone;                  // at the end, in one sentence; empty: nothing is known

  void Add(const ServerPart& part, const FrameTimes& frame);
};

// The result of a run.
struct Summary {
  std::string mode;
  int64_t frames = 0;        // answered
  int64_t fresh = 0;         // of these, computed from their own frame
  double deadline_ms = 0;    // 0: none
  int64_t late = 0;          // computed answers later than deadline_ms
  int64_t none_in_time = 0;  // frames without an answer, moved or computed, by then
  int64_t moved = 0;         // moved answers, which came before the computed one or instead of it
  int64_t early = 0;         // frames that had a moved answer first
  int64_t overtaken = 0;     // of these, frames with only that answer
  int64_t skipped = 0;       // could not be read or fitted
  QueueCount queue;          // of a live source's frames
  bool interrupted = false;
  std::chrono::nanoseconds elapsed{0};  // without checks
  LatencyHistogram latency;
  NamedTimes times;  // kRobotTimes
  WorkShares work;   // where results are kept
  std::optional<GuardReport> guard;
  std::optional<ServerShares> server;    // if a server was configured
  std::map<std::string, int64_t> plans;  // frames by plan, in mode cacheinf
  std::string why_plan;                  // why the last plan was taken
  LatencyHistogram prediction_error;     // how far latencies were from the predictions
  std::string emulation;                 // what is slowed down on purpose; empty: nothing
  LatencyHistogram refresh;              // work for the next frame after an answer
  MemoryReport memory;
  SegmentationScore score;     // if source and model have the same classes
  std::string why_not_scored;  // if their classes differ
  std::string unwritten;       // which outputs could not be written, in a sentence; empty: none

  std::optional<Agreement> agreement;  // of the checked answers
  std::string against;                 // whose dense answers these are; empty: the model's own
  // The agreement of answers older by one, by two and so on; nothing where there was nothing to
  // compare.
  std::vector<std::optional<double>> agreement_of_older;

  void Add(const Answer& answer);
  void AddMoved(const Answer& answer);      // before the frame's own, or its only one
  void AddOvertaken(const Answer& answer);  // the frame's only one, after AddMoved
  void Add(const Robot::Refreshed& refreshed);
  void AddUnwritten(const std::string& what);  // empty: nothing

  std::set<int64_t> moved_frames;  // with a moved answer, and no other yet
};

// Returns "frame 120/300  31.2 fps  p50 30.1 ms  p95 33.9 ms  p99 40.2 ms  reuse 88 %  work 21 %".
// Where results are kept, reuse is the mean share of pixels that counted as unchanged, and work the
// mean share of a dense run's multiply-adds. `total_frames` is 0 if unknown.
std::string ProgressLine(const Summary& so_far, int64_t total_frames);

// Returns a few lines for people.
std::string ToText(const Summary& summary);

// Includes the configuration and the machine.
std::string ToJsonText(const Summary& summary, const RobotConfig& config,
                       const AnswerReader& reader);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_SUMMARY_H_
