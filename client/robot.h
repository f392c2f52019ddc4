#ifndef CACHEINF_CLIENT_ROBOT_H_
#define CACHEINF_CLIENT_ROBOT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/answer/answer.h"
#include "client/server_peer.h"
#include "common/answer/answers.h"
#include "common/answer/seen_picture.h"
#include "common/answer/statistics.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/slowdown.h"
#include "common/config/robot_config.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/model/picture.h"
#include "common/pair/remote_robot.h"
#include "common/pair/split_robot.h"
#include "common/reuse/frame_cache.h"
#include "common/reuse/verdict.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// A frame of a size that the graph cannot take; frames after it may fit.
class UnfitFrame : public InputError {
 public:
  using InputError::InputError;
};

// Answers frames, one after the other, as the mode says:
//   dense    computes every frame.
//   cache    computes of every frame what changed (frame_cache.h).
//   stale    answers at once with the last frame's result, then computes the frame.
//   every-k  computes every k-th frame and repeats its answer for those between.
//   remote   sends pictures to a server, which computes them.
//   split    computes of every frame what changed, some rows of it on a server.
// In the last two, frames for which there is no server are answered as in mode cache.
// A frame of another size than the one before is computed in every mode.
class Robot {
 public:
  // The model takes one input: a picture where frames are pictures (see graph.picture), else what
  // the frames' tensors are. The clock outlives the robot. Throws InputError if the configuration
  // does not fit the model.
  Robot(std::shared_ptr<const CompiledModel> model, const RobotConfig& config, const Clock& clock);
  Robot(const Robot&) = delete;
  Robot& operator=(const Robot&) = delete;

  // Throws UnfitFrame, and changes nothing, if the frame's size does not fit the graph; InputError
  // if the graph takes no such frames at all.
  Answer Process(const Frame& frame, const Verdict& verdict = {});

  // Does what is left for the next frame once the answer to this one is out. Returns what it took;
  // nothing if there was nothing to do. `verdict` is that of the next frame, as far as it is known.
  // REQUIRES: the frame of the last Process, which answered it.
  std::optional<RefreshWork> Refresh(const Frame& frame, const Verdict& verdict = {});

  // Null in other modes.
  const ServerPeer* server() const { return server_.get(); }

  // What was executed last; null if the last answer repeats an earlier one, or is a server's.
  const FrameDecision* decision() const;

  // Until Refresh its outputs are those of the last answer.
  const ModelState& state() const { return state_; }
  const AnswerReader& reader() const { return reader_; }

  // How the last frame was fitted to the model; null before the first and for tensors.
  const PictureFit* fit() const { return fit_.get(); }

  // The last frame as fitted to the model, and what the network saw instead of it. For
  // pictures only.
  PictureView model_picture() const;
  PictureView seen_picture() const;

  // Whether its pixels, and those of the outputs, lie elsewhere than the frame's.
  bool sees_moved() const;

  // How much of the last answer's work was done over each pixel of the model's picture
  // (recomputed.h); only in mode cache. Takes a while: for pictures only.
  std::optional<ClassMap> recomputed() const;

 private:
  void MakeCache(const RobotConfig& config);
  void MeetServer();
  bool IsServerReady();
  void AwaitServer();
  void ShareWith(ServerConnection& server);
  bool ComputeRemotely(const Frame& frame, std::chrono::nanoseconds begin);
  std::chrono::nanoseconds GiveUpAt(std::chrono::nanoseconds begin) const;
  void Fit(const Frame& frame);
  void FitPicture(const Frame& frame);
  bool CanRepeat() const;
  Answer Repeat(const Frame& frame, std::chrono::nanoseconds begin);
  Answer Compute(const Frame& frame, const Verdict& verdict, std::chrono::nanoseconds begin);
  void Keep(const Answer& answer);
  SeenPicture Seen() const;
  void SetInput(const Frame& frame);

  const RobotConfig config_;
  RobotConfig::Mode mode_;
  int every_;
  const std::shared_ptr<const CompiledModel> model_;
  ModelState state_;
  AnswerReader reader_;
  const Clock& clock_;
  const Slowdown slowdown_;
  std::shared_ptr<const PictureFit> fit_;
  std::vector<uint8_t> pixels_;  // the model's picture

  std::unique_ptr<FrameCache> cache_;  // where results are kept

  std::optional<Answer> kept_;  // the last one computed, if the mode repeats it
  int repeats_ = 0;             // of it
  FrameDecision decision_;      // without a cache

  // Modes remote and split. Each member refers to those before it.
  std::vector<Cut> cuts_;
  std::unique_ptr<ServerPeer> server_;
  std::optional<RemoteRobot> remote_;
  std::optional<SplitRobot> split_;
  bool is_from_server_ = false;  // the last answer, and the state's outputs with it
  std::optional<std::chrono::nanoseconds> wait_until_;
  LatencyHistogram alone_;  // times of frames without the server
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROBOT_H_
