#include "tests/bench/contender.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "client/frame_loop.h"
#include "common/base/clock.h"
#include "common/plan/plan_chooser.h"
#include "common/plan/plan_evidence.h"
#include "common/source/frame_queue.h"

namespace cacheinf {
namespace {

constexpr int kFramesToChoose = 20;
constexpr int64_t kFramesBeforeACell = 58;
constexpr size_t kFramesWaiting = 8;

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
  // `first` is its first frame's index; the clip begins so many frames later, after its end. The
  // clip must outlive this.
  ClipCamera(const std::vector<Frame>& clip, int64_t first, int64_t before)
      : clip_(clip), first_(first), before_(before) {}

  std::optional<Frame> Next() override {
    const auto period = 2 * static_cast<int64_t>(clip_.size() - 1);
    const int64_t shown = next_ + (before_ + period - 1) / period * period - before_;
    Frame frame = Numbered(clip_[FrameOfClip(shown, clip_.size())], first_ + next_);
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
  const int64_t first_;
  const int64_t before_;
  int64_t next_ = 0;
};

// What was handed out when, from one of the camera's frames on.
class OnTimeRecord {
 public:
  OnTimeRecord(const Clock& clock, int64_t begin) : clock_(clock), begin_(begin) {}

  void Add(const Frame& frame, const FrameCost& cost, bool is_computed) {
    const int64_t captured = frame.index - begin_;
    const double latency_ms = Milliseconds(clock_.Now() - frame.stamp);
    now_ms_ = CapturedMs(captured) + latency_ms;
    live_.begin_ms = Milliseconds(frame.stamp) - CapturedMs(captured);
    if (captured < 0) return;
    live_.handed_out.push_back({captured, CapturedMs(captured), now_ms_, cost});
    if (is_computed) live_.answers.push_back(live_.handed_out.back());
  }
  bool IsOver(const CellLength& length) const {
    return IsCellOver(live_.answers.size(), now_ms_, length);
  }
  LiveAnswers Take(const std::string& why) {
    if (live_.answers.empty()) throw std::runtime_error("the bench was stopped");
    live_.why = why;
    return std::move(live_);
  }

 private:
  const Clock& clock_;
  const int64_t begin_;
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
  std::vector<AnsweredFrame> answers;
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

LiveAnswers RunOnTime(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
                      const std::vector<KnownSmaller>& smaller, const std::vector<Frame>& clip,
                      const std::function<bool()>& stop, const CellLength& length) {
  const SteadyClock clock;
  Robot robot(model, config, clock, ConnectToServers(), ModelsOf(smaller));
  Introduce(smaller, robot);
  int64_t first = 0;
  for (; first < kFramesToChoose; ++first) {
    const Frame frame = Numbered(clip[FrameOfClip(first, clip.size())], first);
    robot.Process(frame);
    robot.Refresh(frame);
  }
  OnTimeRecord record(clock, first + kFramesBeforeACell);
  FrameQueue camera(std::make_unique<ClipCamera>(clip, first, kFramesBeforeACell), kFramesWaiting,
                    &clock);
  const auto waited = [&](const Frame& frame) { return clock.Now() - frame.stamp; };
  FrameLoop loop(
      camera, config.deadline_ms, clock, waited,
      [&](const Frame& frame, const Answer& answer) {
        FrameCost cost;
        cost.content = std::make_shared<const AnswerContent>(answer.content);
        record.Add(frame, cost, /*is_computed=*/false);
      },
      /*overtaken=*/{}, [&] { return robot.StandBy(); });
  while (!record.IsOver(length) && !stop()) {
    const std::optional<Frame> frame = loop.Next(robot);
    robot.Begin(*frame, {}, waited(*frame));
    const PlanChooser* const chooser = robot.chooser();
    const PlanEvidence evidence = chooser != nullptr ? chooser->evidence() : PlanEvidence();
    const std::optional<Answer> answer = loop.Finish(robot, *frame);
    if (!answer) continue;
    FrameCost cost = CostOf(*answer);
    if (chooser != nullptr && cost.predicted_ms) {
      const double predicted_ms = *cost.predicted_ms;
      cost.promise = {
          evidence.Agreement(robot.plan()),
          1 - evidence.Late(robot.plan(), predicted_ms, {config.deadline_ms, config.deadline_ms})};
    }
    record.Add(*frame, cost, /*is_computed=*/true);
    robot.Refresh(*frame, {}, [&] { loop.LookAround(robot); });
  }
  return record.Take(robot.WhyPlan());
}

}  // namespace cacheinf
