#ifndef CACHEINF_TESTS_BENCH_CONTENDER_H_
#define CACHEINF_TESTS_BENCH_CONTENDER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/live_robot.h"
#include "client/robot.h"
#include "common/answer/smaller_model.h"
#include "common/plan/profile.h"
#include "common/source/frame_source.h"
#include "tests/bench/replay.h"
#include "tests/rivals/plain_video.h"

namespace cacheinf {

// Answers frames, one after the other.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual FrameCost Answer(const Frame& frame) = 0;
  // Milliseconds of work for the next frame, once the answer is out.
  virtual double Refresh(const Frame& frame) = 0;
  // How long the last answer waited for the bench itself.
  virtual double unpaid_ms() const { return 0; }
  // How many frames it needs to settle.
  virtual int frames_to_settle() const { return 2; }
  // Why it did what it did.
  virtual std::string why() const { return ""; }
};

// A smaller model of a robot in mode cacheinf, and what the robot knows about it.
struct KnownSmaller {
  SmallerModel model;
  Profile profile;         // of a robot as slow
  JudgedAgreement judged;  // on its own frames
};

// A robot, with a server or alone. It answers every k-th frame; for the frames between, that answer
// is repeated at once.
std::unique_ptr<Contender> MakeRobotContender(std::shared_ptr<const CompiledModel> model,
                                              const RobotConfig& config, int every = 1,
                                              const std::vector<KnownSmaller>& smaller = {});

std::unique_ptr<Contender> MakePlainVideoContender(const PlainVideoServer& server,
                                                   const PlainVideoOptions& options,
                                                   const PictureFit& fit);

// Costs of the clip's frames, one after another. Throws std::runtime_error if a server is needed
// but takes no part.
std::vector<FrameCost> MeasureFrames(Contender& contender, const std::vector<Frame>& clip,
                                     bool needs_server);

struct LiveAnswers {
  std::vector<CameraAnswer> answers;     // computed
  std::vector<CameraAnswer> handed_out;  // these, and earlier ones moved to frames without
  std::string why;                       // the contender's
  double begin_ms = 0;                   // of the cell, by the machine's clock
};

// A camera shows the clip, and the contender always answers the newest frame, until the cell is
// over. Throws as MeasureFrames does.
LiveAnswers RunLive(Contender& contender, const std::vector<Frame>& clip, bool needs_server,
                    const std::function<bool()>& stop, const CellLength& length = {});

// The same with a robot as users run it: it has a deadline, and so an answer to every frame of the
// camera. The cell begins with the clip, after the camera has run for five seconds.
LiveAnswers RunOnTime(RobotModels& models, const RobotConfig& config,
                      const std::vector<KnownSmaller>& smaller, const std::vector<Frame>& clip,
                      const std::function<bool()>& stop, const CellLength& length = {});

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_CONTENDER_H_
