#include "tests/bench/contender.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "client/live_robot.h"
#include "common/base/clock.h"
#include "common/plan/plan_chooser.h"
#include "common/plan/plan_evidence.h"
#include "common/source/frame_queue.h"

namespace cacheinf {
namespace {

constexpr int kFramesToChoose = 20;
constexpr int64_t kFramesBeforeACell = 150;

void SleepMs(double ms) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

FrameCost CostOf(Answer answer) {
  FrameCost cost;
  cost.robot_ms = Milliseconds(answer.latency() - answer.times.waited);
  const bool is_computed = answer.computed_from == answer.frame;
  if (is_computed) cost.robot_work = answer.work ? answer.work->share : 1.0;
  cost.share = answer.share();
  cost.is_moved = answer.is_moved;
  cost.plan = answer.plan;
  if (answer.predicted) cost.predicted_ms = Milliseconds(*answer.predicted);
  if (const auto& part = answer.server) {
    const FrameTimes& times = answer.times;
    const double waiting_ms = Milliseconds(times.waiting);
    cost.has_server = true;
    // In a split the server computes partly while the robot does.
    cost.server_ms =
        std::min(Milliseconds(times.server_decoding + times.server_computing), waiting_ms);
    cost.robot_ms -= waiting_ms;
    cost.link_ms = waiting_ms - cost.server_ms;
    cost.bytes_to_server = static_cast<double>(part->sent_bytes);
    cost.bytes_to_robot = static_cast<double>(part->received_bytes);
    cost.server_work = part->work.share;
    // The robot computed nothing.
    if (!answer.work) cost.robot_work = 0;
  }
  cost.content = std::make_shared<const AnswerContent>(std::move(answer.content));
  return cost;
}

SmallerModels ModelsOf(const std::vector<KnownSmaller>& smaller) {
  SmallerModels models;
  for (const KnownSmaller& known : smaller) models.push_back(known.model);
  return models;
}

void Introduce(const std::vector<KnownSmaller>& smaller, Robot& robot) {
  for (const auto& [model, profile, judged] : smaller) {
    robot.AddProfile(model.name, profile);
    const Plan plan = {.keeps = false, .model = model.name};
    if (judged.weight > 0) robot.NoteTrial(plan, judged.agreement, judged.weight);
  }
}

class RobotContender final : public Contender {
 public:
  RobotContender(std::shared_ptr<const CompiledModel> model, const RobotConfig& config, int every,
                 const std::vector<KnownSmaller>& smaller)
      : config_(config),
        robot_(std::move(model), config, clock_, ConnectToServers(), ModelsOf(smaller)),
        every_(every) {
    Introduce(smaller, robot_);
  }

  FrameCost Answer(const Frame& frame) override {
    if (answers_++ % every_ != 0) return {.content = content_};
    FrameCost cost = CostOf(robot_.Process(frame));
    content_ = cost.content;
    return cost;
  }

  double Refresh(const Frame& frame) override {
    if ((answers_ - 1) % every_ != 0) return 0;
    const auto work = robot_.Refresh(frame);
    return work ? Milliseconds(work->took) : 0;
  }

  int frames_to_settle() const override {
    return config_.mode == RobotConfig::Mode::kCacheinf ? kFramesToChoose : 2;
  }
  std::string why() const override { return robot_.WhyPlan(); }

 private:
  const SteadyClock clock_;
  const RobotConfig config_;
  Robot robot_;
  const int every_;
  int64_t answers_ = 0;
  SharedContent content_;  // of the last computed one
};

class PlainVideoContender final : public Contender {
 public:
  PlainVideoContender(const PlainVideoServer& server, const PlainVideoOptions& options,
                      const PictureFit& fit)
      : video_(server, options, fit) {}

  FrameCost Answer(const Frame& frame) override { return video_.Answer(frame.picture); }
  double Refresh(const Frame&) override { return 0; }
  double unpaid_ms() const override { return video_.handing_over_ms(); }

 private:
  PlainVideo video_;
};

// Robots count their frames.
Frame Numbered(Frame frame, int64_t index) {
  frame.index = index;
  return frame;
}

// A camera that shows the clip for ever, as a record of its frames.
class ClipCamera final : public FrameSource {
 public:
  // The clip begins so many frames later, after its end. It must outlive this.
  ClipCamera(const std::vector<Frame>& clip, int64_t before) : clip_(clip), before_(before) {}

  std::optional<Frame> Next() override {
    const auto period = 2 * static_cast<int64_t>(clip_.size() - 1);
    const int64_t shown = next_ + (before_ + period - 1) / period * period - before_;
    Frame frame = Numbered(clip_[FrameOfClip(shown, clip_.size())], next_);
    const std::chrono::duration<double, std::milli> stamp(CapturedMs(next_++));
    frame.stamp = std::chrono::duration_cast<std::chrono::nanoseconds>(stamp);
    return frame;
  }
  int64_t skipped() const override { return 0; }
  bool is_live() const override { return false; }
  bool has_tensors() const override { return false; }
  double frame_rate() const override { return kFramesPerSecond; }

 private:
  const std::vector<Frame>& clip_;
  const int64_t before_;
  int64_t next_ = 0;
};

// Takes a robot's answers from one of the camera's frames on.
class OnTimeRecord final : public FrameObserver {
 public:
  using Over = std::function<bool(size_t answers, double now_ms)>;

  OnTimeRecord(const RobotConfig& config, const Clock& clock, Over is_over)
      : deadline_ms_(config.deadline_ms), clock_(clock), is_over_(std::move(is_over)) {}

  // Sets the robot whose answers these are.
  void Observe(const Robot& robot) { robot_ = &robot; }

  bool IsOver() override { return is_over_(live_.answers.size(), now_ms_); }
  Verdict Before(const Frame& /*frame*/, const Verdict& wanted) override {
    const PlanChooser* const chooser = robot_->chooser();
    evidence_ = chooser != nullptr ? std::optional(chooser->evidence()) : std::nullopt;
    return wanted;
  }
  void Skip(const Frame& /*frame*/, const std::string& reason) override {
    throw std::runtime_error(reason);
  }
  void PublishMoved(const Frame& frame, const Answer& answer) override {
    FrameCost cost;
    cost.content = std::make_shared<const AnswerContent>(answer.content);
    Add(frame, cost, /*is_computed=*/false);
  }
  void Publish(const Frame& frame, const Answer& answer) override {
    FrameCost cost = CostOf(answer);
    if (evidence_ && cost.predicted_ms) {
      const Plan& plan = robot_->plan();
      const double late = evidence_->Late(plan, *cost.predicted_ms, {deadline_ms_, deadline_ms_});
      cost.promise = {evidence_->Agreement(plan), 1 - late};
    }
    Add(frame, cost, /*is_computed=*/true);
  }

  LiveAnswers Take() {
    if (live_.answers.empty()) throw std::runtime_error("the bench was stopped");
    live_.why = robot_->WhyPlan();
    return std::move(live_);
  }

 private:
  void Add(const Frame& frame, const FrameCost& cost, bool is_computed) {
    const int64_t captured = frame.index - kFramesBeforeACell;
    const double latency_ms = Milliseconds(clock_.Now() - frame.stamp);
    now_ms_ = CapturedMs(captured) + latency_ms;
    live_.begin_ms = Milliseconds(frame.stamp) - CapturedMs(captured);
    if (captured < 0) return;
    live_.handed_out.push_back({captured, CapturedMs(captured), now_ms_, cost});
    if (is_computed) live_.answers.push_back(live_.handed_out.back());
  }

  const double deadline_ms_;
  const Clock& clock_;
  const Over is_over_;
  const Robot* robot_ = nullptr;
  std::optional<PlanEvidence> evidence_;  // before the frame
  double now_ms_ = 0;
  LiveAnswers live_;
};

// Runs the first frames, while a server gets ready. Returns the number of the next.
int64_t WarmUp(Contender& contender, const std::vector<Frame>& clip, bool needs_server) {
  constexpr int64_t kMostFrames = 200;
  const int64_t settles = contender.frames_to_settle();
  for (int64_t index = 0; index < kMostFrames; ++index) {
    // Its choice depends on what moves.
    const Frame& frame = settles > 2 ? clip[FrameOfClip(index, clip.size())] : clip[1];
    const FrameCost cost = contender.Answer(Numbered(frame, index));
    contender.Refresh(Numbered(frame, index));
    if (index + 1 >= settles && (!needs_server || cost.has_server)) return index + 1;
    if (needs_server && !cost.has_server) SleepMs(50);
  }
  throw std::runtime_error("the server takes no part");
}

void CheckServer(const std::vector<FrameCost>& costs, bool needs_server) {
  const auto alone = std::count_if(costs.begin(), costs.end(),
                                   [](const FrameCost& cost) { return !cost.has_server; });
  if (needs_server && alone * 10 > static_cast<int64_t>(costs.size())) {
    throw std::runtime_error("the server took part in too few frames");
  }
}

}  // namespace

std::unique_ptr<Contender> MakeRobotContender(std::shared_ptr<const CompiledModel> model,
                                              const RobotConfig& config, int every,
                                              const std::vector<KnownSmaller>& smaller) {
  return std::make_unique<RobotContender>(std::move(model), config, every, smaller);
}

std::unique_ptr<Contender> MakePlainVideoContender(const PlainVideoServer& server,
                                                   const PlainVideoOptions& options,
                                                   const PictureFit& fit) {
  return std::make_unique<PlainVideoContender>(server, options, fit);
}

std::vector<FrameCost> MeasureFrames(Contender& contender, const std::vector<Frame>& clip,
                                     bool needs_server) {
  int64_t index = WarmUp(contender, clip, needs_server);
  std::vector<FrameCost> costs;
  for (const Frame& shown : clip) {
    const Frame frame = Numbered(shown, index++);
    FrameCost cost = contender.Answer(frame);
    cost.refresh_ms = contender.Refresh(frame);
    costs.push_back(std::move(cost));
  }
  CheckServer(costs, needs_server);
  return costs;
}

LiveAnswers RunLive(Contender& contender, const std::vector<Frame>& clip, bool needs_server,
                    const std::function<bool()>& stop, const CellLength& length) {
  const int64_t warm = WarmUp(contender, clip, needs_server);
  const SteadyClock clock;
  const auto begin = clock.Now();
  const auto now_ms = [&] { return Milliseconds(clock.Now() - begin); };
  std::vector<CameraAnswer> answers;
  std::vector<FrameCost> costs;
  int64_t captured = -1;
  while (!IsCellOver(answers.size(), now_ms(), length) && !stop()) {
    captured = NewestFrame(now_ms(), captured);
    SleepMs(std::max(0.0, CapturedMs(captured) - now_ms()));
    const Frame frame = Numbered(clip[FrameOfClip(captured, clip.size())], warm + captured);
    const FrameCost cost = contender.Answer(frame);
    answers.push_back({captured, CapturedMs(captured), now_ms() - contender.unpaid_ms(), cost});
    costs.push_back(cost);
    contender.Refresh(frame);
  }
  if (answers.empty()) throw std::runtime_error("the bench was stopped");
  CheckServer(costs, needs_server);
  return {answers, answers, contender.why(), Milliseconds(begin)};
}

LiveAnswers RunOnTime(RobotModels& models, const RobotConfig& config,
                      const std::vector<KnownSmaller>& smaller, const std::vector<Frame>& clip,
                      const std::function<bool()>& stop, const CellLength& length) {
  const SteadyClock clock;
  FrameQueue camera(std::make_unique<ClipCamera>(clip, kFramesBeforeACell),
                    LiveRobot::FramesAhead(config, /*is_live=*/true), &clock);
  OnTimeRecord record(config, clock, [&](size_t answers, double now_ms) {
    return stop() || IsCellOver(answers, now_ms, length);
  });
  LiveRobot robot(config, models, camera, clock, record);
  record.Observe(robot.robot());
  Introduce(smaller, robot.robot());
  while (!record.IsOver()) robot.Handle(*robot.Next());
  return record.Take();
}

}  // namespace cacheinf
