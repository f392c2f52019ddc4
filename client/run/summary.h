#ifndef CACHEINF_CLIENT_RUN_SUMMARY_H_
#define CACHEINF_CLIENT_RUN_SUMMARY_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "client/answer/answer.h"
#include "common/answer/agreement.h"
#include "common/answer/statistics.h"
#include "common/config/robot_config.h"
#include "common/exec/model_state.h"
#include "common/link/channel.h"
#include "common/pair/server_part.h"
#include "common/reuse/guard.h"

namespace cacheinf {

// What frames took where results are kept: means over the frames.
struct WorkShares {
  int64_t frames = 0;
  int64_t dense = 0;    // of these, computed whole
  int64_t rested = 0;   // of these, because reuse did not pay
  int64_t anchors = 0;  // of a canvas, made in idle time
  double active_sum = 0;
  double share_sum = 0;
  LatencyHistogram tracking;
  std::map<Loss, int64_t> losses;

  void Add(const FrameWork& work);
  void Add(const RefreshWork& refresh) {
    share_sum += refresh.share;
    anchors += refresh.is_anchor;
  }
  double active() const { return active_sum / static_cast<double>(frames); }
  double share() const { return share_sum / static_cast<double>(frames); }
};

// What a server did, where there is one; bytes and work are sums over its frames.
struct ServerShares {
  int64_t frames = 0;  // in which it had a part
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
  double work_sum = 0;
  LatencyHistogram encoding;
  LatencyHistogram waiting;
  LatencyHistogram decoding;
  LatencyHistogram computing;
  std::optional<ChannelStatistics> link;  // at the end; nothing if the server is gone

  void Add(const ServerPart& part);
};

// The result of a run.
struct Summary {
  std::string mode;
  int64_t frames = 0;      // answered
  int64_t fresh = 0;       // of these, from their own frame
  double deadline_ms = 0;  // 0: none
  int64_t late = 0;        // answers after more than that
  int64_t skipped = 0;     // that could not be read
  int64_t dropped = 0;     // that a newer one overtook
  bool interrupted = false;
  std::chrono::nanoseconds elapsed{0};  // without checks
  LatencyHistogram latency;
  LatencyHistogram waited;
  LatencyHistogram preprocess;
  LatencyHistogram compute;
  LatencyHistogram decode;
  WorkShares work;  // in mode cache
  std::optional<GuardReport> guard;
  std::optional<ServerShares> server;    // if one was asked for
  std::map<std::string, int64_t> plans;  // frames of each, in mode cacheinf
  std::string why_plan;                  // why the last one was taken
  LatencyHistogram prediction_error;     // how far what a frame took was from what was predicted
  std::string emulation;                 // what is slowed down on purpose; empty: nothing
  LatencyHistogram refresh;              // work for the next frame after an answer was out
  MemoryReport memory;
  SegmentationScore score;  // if source and model have the same classes
  std::string
      why_not_scored;  // where the source knows the truth and the model segments, but not so

  std::optional<Agreement> agreement;  // of the answers that were checked

  void Add(const Answer& answer);
  void Add(const RefreshWork& done);
};

// "frame 120/300  31.2 fps  p50 30.1 ms  p95 33.9 ms  p99 40.2 ms  reuse 88 %  work 21 %" of a
// summary so far: where results are kept, the mean share of the pixels that counted as unchanged,
// and of a dense run's multiply-adds. `total_frames` is 0 if unknown.
std::string ProgressLine(const Summary& so_far, int64_t total_frames);

// For people: a few lines.
std::string ToText(const Summary& summary);

// With the configuration and the machine.
std::string ToJsonText(const Summary& summary, const RobotConfig& config,
                       const AnswerReader& reader);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_SUMMARY_H_
